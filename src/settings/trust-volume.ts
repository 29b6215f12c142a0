// The volume file of an actor: which bundles it asks for by name, and at which paths below its folder it wants them. It
// never says where a bundle comes from: that is the deployment's affair (bundle-allowlist.ts). Pure.
import { unprintableIn } from '../errors.ts';
import { bundleNameRule } from './bundle-name.ts';
import { volumeWords } from './delivery-errors.ts';
import { readDeliveryFile, type DeliveryReader, type DeliveryReading } from './delivery-file.ts';
import type { PolicyNode } from './policy-node.ts';

export type TrustForm = 'PEM' | 'PKCS12' | 'NSS';

/** `names` are joined into one file; `path` is clean, relative, and for NSS a folder */
export type TrustSource = { readonly names: readonly string[]; readonly path: string; readonly form: TrustForm };

/** 1 to 8 sources, none at or below the path of another */
export type TrustVolume = { readonly sources: readonly TrustSource[] };

const maxSources = 8;
const maxNames = 8;
/** beside the files of a volume: what was written there */
export const manifestName = '.leafgate-volume';
/** drafts of its files, which are removed when a run was killed */
export const draftPattern = /^\.[0-9a-f]{32}\.leafgate-new$/;
/** as agent-substrate limits them */
export const maxPathSegments = 16;
/** what Linux takes as the name of one file; a path of that length is read in full by everyone */
export const maxPathBytes = 255;
const forms: readonly TrustForm[] = ['PEM', 'PKCS12', 'NSS'];

const sourceKeys = ['name', 'names', 'path', 'form'];

/** Never throws; at most 64 KiB. */
export function parseTrustVolume(bytes: Uint8Array, source: string): DeliveryReading<TrustVolume> {
  return readDeliveryFile({ bytes, source, words: volumeWords, read: readVolume });
}

function readVolume(root: PolicyNode, reader: DeliveryReader): TrustVolume | undefined {
  const fields = reader.nodes.map(root, 'the volume file', ['dataSources']);
  if (fields === undefined) return undefined;
  const node = fields.get('dataSources');
  if (node === undefined) {
    const hint = 'add dataSources: [{trustBundle: {name: egress-mitm, path: ca.pem}}]';
    reader.problem('delivery-key-missing', root, { place: 'the volume file', key: 'dataSources', hint });
    return undefined;
  }
  const items = reader.nodes.list(node, 'dataSources', { most: maxSources, example: '[{trustBundle: {…}}]' });
  const taken = new Map<string, string>();
  const sources = items.flatMap((item) => readSource(item, reader, taken) ?? []);
  return { sources };
}

/** `taken` has each path that stands before this one, by its folded form */
function readSource(item: PolicyNode, reader: DeliveryReader, taken: Map<string, string>): TrustSource | undefined {
  const place = 'a data source';
  const fields = reader.nodes.map(item, place, ['trustBundle']);
  if (fields === undefined) return undefined;
  const bundle = fields.get('trustBundle');
  if (bundle === undefined) {
    const hint = 'write it as trustBundle: {name: egress-mitm, path: ca.pem}';
    reader.problem('delivery-key-missing', item, { place, key: 'trustBundle', hint });
    return undefined;
  }
  const keys = reader.nodes.map(bundle, 'trustBundle', sourceKeys);
  if (keys === undefined) return undefined;
  const names = readNames(bundle, keys, reader);
  const path = readPath(bundle, keys, reader);
  const form = readForm(keys.get('form'), reader);
  if (path !== undefined) keepApart(path.text, path.node, reader, taken);
  if (names === undefined || path === undefined || form === undefined) return undefined;
  return { names, path: path.text, form };
}

type Keys = ReadonlyMap<string, PolicyNode>;

function readNames(bundle: PolicyNode, keys: Keys, reader: DeliveryReader): readonly string[] | undefined {
  const one = keys.get('name');
  const several = keys.get('names');
  if (one !== undefined && several !== undefined) {
    reader.problem('delivery-keys-clash', several, { place: 'trustBundle', keys: 'name and names' });
    return undefined;
  }
  if (one !== undefined) {
    const name = readName(one, 'name', reader);
    return name === undefined ? undefined : [name];
  }
  if (several === undefined) {
    const hint = 'add name: egress-mitm, or names: [egress-mitm, system-roots] for one file of several bundles';
    reader.problem('delivery-key-missing', bundle, { place: 'trustBundle', key: 'name', hint });
    return undefined;
  }
  const names = new Set<string>();
  for (const node of reader.nodes.list(several, 'names', { most: maxNames, example: '[egress-mitm, system-roots]' })) {
    const name = readName(node, 'names', reader);
    if (name === undefined) continue;
    if (names.has(name)) reader.problem('delivery-name-twice', node, { name });
    names.add(name);
  }
  return [...names];
}

function readName(node: PolicyNode, key: string, reader: DeliveryReader): string | undefined {
  const { expected, example, isRight } = bundleNameRule;
  const meant = { expected, example: key === 'name' ? `name: ${example}` : `names: [${example}]` };
  const text = reader.nodes.text(node, key, meant);
  if (text === undefined || isRight(text)) return text;
  reader.nodes.wrong(node, key, meant);
  return undefined;
}

type FoundPath = { readonly text: string; readonly node: PolicyNode };

function readPath(bundle: PolicyNode, keys: Keys, reader: DeliveryReader): FoundPath | undefined {
  const node = keys.get('path');
  const example = 'path: certs/ca.pem';
  if (node === undefined) {
    reader.problem('delivery-key-missing', bundle, { place: 'trustBundle', key: 'path', hint: `add ${example}` });
    return undefined;
  }
  const text = reader.nodes.text(node, 'path', { expected: 'a relative path', example });
  if (text === undefined) return undefined;
  const expected = pathFault(text);
  if (expected === undefined) return { text, node };
  reader.nodes.wrong(node, 'path', { expected, example });
  return undefined;
}

/** What a path should have been, where it is not that; undefined for one that is clean. */
function pathFault(path: string): string | undefined {
  if (path.startsWith('/')) return 'a relative path: it starts below the folder of the volume';
  if (!path.isWellFormed() || unprintableIn(path)) return 'a path of visible characters';
  if (/[\\:]/.test(path)) return 'a path without a backslash and without a colon';
  const segments = path.split('/');
  if (segments.includes('')) return 'a path whose parts are not empty';
  if (segments.some((part) => part === '.' || part.startsWith('..'))) return 'a path without parts . and ..';
  const isKept = folded(path).split('/')[0] === manifestName || segments.some((part) => draftPattern.test(part));
  if (isKept) return 'a path without a name that leafgate keeps for itself';
  if (segments.length > maxPathSegments) return `a path of at most ${maxPathSegments} parts`;
  return Buffer.byteLength(path) > maxPathBytes ? `a path of at most ${maxPathBytes} bytes` : undefined;
}

function readForm(node: PolicyNode | undefined, reader: DeliveryReader): TrustForm | undefined {
  if (node === undefined) return 'PEM';
  const form = node.kind === 'value' ? forms.find((one) => one === node.value) : undefined;
  if (form === undefined)
    reader.nodes.wrong(node, 'form', { expected: `one of ${forms.join(', ')}`, example: 'form: PEM' });
  return form;
}

/** Paths that differ by case alone are one file on some systems (macOS), and look like one to a person on all. */
function folded(path: string): string {
  return path.normalize('NFC').toLowerCase();
}

function keepApart(path: string, node: PolicyNode, reader: DeliveryReader, taken: Map<string, string>): void {
  const own = folded(path);
  for (const [other, text] of taken) {
    const reason = clash(own, other, text);
    if (reason === undefined) continue;
    reader.problem('delivery-path-taken', node, { path, reason });
    return;
  }
  taken.set(own, path);
}

function clash(own: string, other: string, otherText: string): string | undefined {
  if (own === other) return `is that of another source, ${otherText}`;
  if (own.startsWith(`${other}/`)) return `is below ${otherText}, which is another source`;
  return other.startsWith(`${own}/`) ? `is a folder of ${otherText}, which is another source` : undefined;
}
