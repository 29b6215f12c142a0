// The allowlist of a deployment: which bundles actors may ask for by name, and the backend that each comes from. Pure.
import { isAbsolute } from 'node:path';
import { unprintableIn } from '../errors.ts';
import { bundleNameRule } from './bundle-name.ts';
import { allowlistWords } from './delivery-errors.ts';
import { readDeliveryFile, type DeliveryReader, type DeliveryReading } from './delivery-file.ts';
import {
  bundleObjectNameRule,
  labelKeyRule,
  labelValueRule,
  readSignerNameRule,
  type TextRule,
} from './kubernetes-names.ts';
import type { PolicyEntry, PolicyNode } from './policy-node.ts';

export type BundleBackend =
  /** every ClusterTrustBundle of the signer that has these labels, in one; no labels: all of the signer */
  | {
      readonly kind: 'cluster-trust-bundles';
      readonly signerName: string;
      readonly matchLabels: Readonly<Record<string, string>>;
    }
  | { readonly kind: 'cluster-trust-bundle'; readonly name: string }
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'system-roots' };

/** by bundle name */
export type BundleAllowlist = ReadonlyMap<string, BundleBackend>;

const maxBundles = 1000;
/** more selects nothing that fewer do not */
const maxLabels = 32;
const maxPathBytes = 4096;

const backendKeys = ['clusterTrustBundle', 'file', 'systemRoots'];
const bundleKeys = ['signerName', 'matchLabels', 'name'];

/** Never throws; at most 1 MiB and 1,000 bundles. */
export function parseBundleAllowlist(bytes: Uint8Array, source: string): DeliveryReading<BundleAllowlist> {
  return readDeliveryFile({ bytes, source, words: allowlistWords, read: readAllowlist });
}

function readAllowlist(root: PolicyNode, reader: DeliveryReader): BundleAllowlist | undefined {
  const place = 'the list of bundles';
  const node = reader.nodes.map(root, place, ['bundles'])?.get('bundles');
  const example = 'bundles: {egress-mitm: {file: /run/leafgate/source/ca.pem}}';
  if (node === undefined) {
    if (root.kind === 'map')
      reader.problem('delivery-key-missing', root, { place, key: 'bundles', hint: `add ${example}` });
    return undefined;
  }
  const entries = entriesOf(node, reader, { key: 'bundles', expected: 'a map of names to backends', example });
  if (node.kind === 'map' && entries.length === 0)
    reader.nodes.wrong(node, 'bundles', { expected: 'a map of at least one name', example });
  if (entries.length > maxBundles) reader.nodes.tooMany(node.at, { most: maxBundles, things: 'bundles' });
  return new Map(entries.slice(0, maxBundles).flatMap((entry) => readBundle(entry, reader)));
}

type Meant = { readonly key: string; readonly expected: string; readonly example: string };

function entriesOf(node: PolicyNode, reader: DeliveryReader, meant: Meant): readonly PolicyEntry[] {
  if (node.kind === 'map') return node.entries;
  reader.nodes.wrong(node, meant.key, meant);
  return [];
}

function readBundle({ key, keyAt, value }: PolicyEntry, reader: DeliveryReader): readonly [string, BundleBackend][] {
  const { isRight, expected, example } = bundleNameRule;
  if (!isRight(key)) {
    const fields = { key: 'a name under bundles', value: JSON.stringify(key), expected, example };
    reader.problem('delivery-value-wrong', { at: keyAt }, fields);
  }
  const backend = readBackend(value, `the bundle ${key}`, reader);
  return backend === undefined ? [] : [[key, backend]];
}

function readBackend(node: PolicyNode, place: string, reader: DeliveryReader): BundleBackend | undefined {
  const fields = reader.nodes.map(node, place, backendKeys);
  if (fields === undefined) return undefined;
  const given = backendKeys.filter((key) => fields.has(key));
  if (given.length > 1) {
    reader.problem('delivery-keys-clash', node, { place, keys: given.join(' and ') });
    return undefined;
  }
  const bundle = fields.get('clusterTrustBundle');
  if (bundle !== undefined) return readClusterTrustBundle(bundle, reader);
  const file = fields.get('file');
  if (file !== undefined) return readFilePath(file, reader);
  const roots = fields.get('systemRoots');
  if (roots !== undefined) return readSystemRoots(roots, reader);
  const hint = `add one of ${backendKeys.join(', ')}, such as systemRoots: {}`;
  reader.problem('delivery-key-missing', node, { place, key: 'backend', hint });
  return undefined;
}

function readClusterTrustBundle(node: PolicyNode, reader: DeliveryReader): BundleBackend | undefined {
  const place = 'clusterTrustBundle';
  const fields = reader.nodes.map(node, place, bundleKeys);
  if (fields === undefined) return undefined;
  const name = fields.get('name');
  const signerName = fields.get('signerName');
  const matchLabels = fields.get('matchLabels');
  if (name !== undefined) {
    const other = signerName ?? matchLabels;
    if (other === undefined) {
      const text = readText(name, 'name', bundleObjectNameRule, reader);
      return text === undefined ? undefined : { kind: 'cluster-trust-bundle', name: text };
    }
    reader.problem('delivery-keys-clash', other, { place, keys: 'name and a choice by signer' });
    return undefined;
  }
  if (signerName === undefined) {
    const hint = 'add signerName and matchLabels, or the name of one object';
    reader.problem('delivery-key-missing', node, { place, key: 'signerName', hint });
  }
  if (matchLabels === undefined) {
    const hint = 'add the labels that choose among the bundles of the signer, or matchLabels: {} for all of them';
    reader.problem('delivery-key-missing', node, { place, key: 'matchLabels', hint });
  }
  const signer = signerName && readText(signerName, 'signerName', readSignerNameRule, reader);
  const labels = matchLabels && readLabels(matchLabels, reader);
  if (signer === undefined || labels === undefined) return undefined;
  return { kind: 'cluster-trust-bundles', signerName: signer, matchLabels: labels };
}

function readText(node: PolicyNode, key: string, rule: TextRule, reader: DeliveryReader): string | undefined {
  const meant = { expected: rule.expected, example: `${key}: ${rule.example}` };
  const text = reader.nodes.text(node, key, meant);
  if (text === undefined || rule.isRight(text)) return text;
  reader.nodes.wrong(node, key, meant);
  return undefined;
}

function readLabels(node: PolicyNode, reader: DeliveryReader): Readonly<Record<string, string>> | undefined {
  const example = `matchLabels: {${labelKeyRule.example}: ${labelValueRule.example}}`;
  const entries = entriesOf(node, reader, { key: 'matchLabels', expected: 'a map of labels', example });
  if (node.kind !== 'map') return undefined;
  if (entries.length > maxLabels) reader.nodes.tooMany(node.at, { most: maxLabels, things: 'labels' });
  for (const { key, keyAt, value } of entries) {
    if (!labelKeyRule.isRight(key)) {
      const fields = { key: 'a label', value: JSON.stringify(key), expected: labelKeyRule.expected, example };
      reader.problem('delivery-value-wrong', { at: keyAt }, fields);
    }
    if (value.kind === 'value' && typeof value.value === 'string' && labelValueRule.isRight(value.value)) continue;
    reader.nodes.wrong(value, key, { expected: `${labelValueRule.expected}, as a text`, example: `${key}: "true"` });
  }
  return Object.fromEntries(entries.map(({ key, value }) => [key, value.kind === 'value' ? String(value.value) : '']));
}

function readFilePath(node: PolicyNode, reader: DeliveryReader): BundleBackend | undefined {
  const example = 'file: /run/leafgate/source/ca.pem';
  const meant = { expected: 'the absolute path of a file', example };
  const path = reader.nodes.text(node, 'file', meant);
  if (path === undefined) return undefined;
  const isRight = isAbsolute(path) && !path.endsWith('/') && path.isWellFormed() && !unprintableIn(path);
  if (isRight && Buffer.byteLength(path) < maxPathBytes) return { kind: 'file', path };
  reader.nodes.wrong(node, 'file', meant);
  return undefined;
}

function readSystemRoots(node: PolicyNode, reader: DeliveryReader): BundleBackend | undefined {
  if (node.kind === 'map' && node.entries.length === 0) return { kind: 'system-roots' };
  reader.nodes.wrong(node, 'systemRoots', { expected: 'an empty map', example: 'systemRoots: {}' });
  return undefined;
}
