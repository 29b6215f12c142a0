// The part `origins` of a policy file: which origins see a client certificate of the gateway, and which CA verifies them.
// Paths are resolved against the file's own folder; whether the files are there is for the edges to see.
import { resolve } from 'node:path';
import { hostPatternText } from '../names/host-pattern.ts';
import type { HostPattern } from '../names/name-types.ts';
import type { OriginCredential } from './gateway-spec.ts';
import type { PolicyNode } from './policy-node.ts';
import type { PolicyReader } from './policy-reader.ts';
import { readName } from './policy-rules.ts';
import { isReservedHost, meantTarget, parseOriginHost } from './policy-targets.ts';

const originKeys = ['name', 'hosts', 'certificate', 'key', 'ca'];
/** each is a transport socket of its own in Envoy */
const maxOrigins = 256;
const maxOriginHosts = 1_000;

export function readOrigins(node: PolicyNode, reader: PolicyReader, baseDir: string): readonly OriginCredential[] {
  const items = reader.list(node, 'origins', { most: maxOrigins, example: '[{name: …, hosts: […], …}]' });
  const reading = { reader, names: new Map<string, true>(), owners: new Map<string, string>(), baseDir };
  return items.flatMap((item, index) => readOrigin(item, index, reading) ?? []);
}

type Reading = {
  readonly reader: PolicyReader;
  readonly names: Map<string, true>;
  /** host or suffix -> the origin that lists it */
  readonly owners: Map<string, string>;
  readonly baseDir: string;
};

function readOrigin(node: PolicyNode, index: number, reading: Reading): OriginCredential | undefined {
  const { reader, names, baseDir } = reading;
  const place = `origin ${index + 1}`;
  const fields = reader.map(node, place, originKeys);
  if (fields === undefined) return undefined;
  const needed = (key: string, hint: string): PolicyNode | undefined => {
    const found = fields.get(key);
    if (found === undefined) reader.problem('policy-key-missing', node.at, { place, key, hint });
    return found;
  };
  const file = (key: string, given: PolicyNode | undefined): string | undefined => {
    const path =
      given && reader.text(given, key, { expected: 'the path of a PEM file', example: `${key}: /path/to/file` });
    return path === undefined ? undefined : resolve(baseDir, path);
  };
  const nameNode = needed('name', 'give it one, as `name: partner`');
  const name = nameNode && readName(nameNode, { reader, what: 'origin', taken: names });
  if (name !== undefined) names.set(name, true);
  const hostsNode = needed('hosts', 'list its hosts, as `hosts: [mtls.example.com]`');
  const hosts = hostsNode === undefined ? [] : readOriginHosts(hostsNode, name ?? place, reading);
  const certificateFile = file('certificate', needed('certificate', 'name the PEM file with the client certificate'));
  const keyFile = file('key', needed('key', 'name the PEM file with the key of the client certificate'));
  const caFile = file('ca', fields.get('ca'));
  if (name === undefined || certificateFile === undefined || keyFile === undefined) return undefined;
  return { name, hosts, certificateFile, keyFile, caFile };
}

function readOriginHosts(node: PolicyNode, origin: string, { reader, owners }: Reading): readonly HostPattern[] {
  return reader.list(node, 'hosts', { most: maxOriginHosts, example: '[mtls.example.com]' }).flatMap((item) => {
    const expected = 'a host name or *.suffix';
    const text = reader.text(item, 'host', { expected, example: 'mtls.example.com or "*.example.com"' });
    if (text === undefined) return [];
    const pattern = parseOriginHost(text);
    if (pattern === undefined) {
      reader.wrong(item, 'host', { expected, example: meantTarget(text) });
      return [];
    }
    const other = owners.get(hostPatternText(pattern));
    if (isReservedHost(pattern)) reader.problem('policy-host-reserved', item.at, { value: text });
    else if (other !== undefined) reader.problem('policy-host-twice', item.at, { value: text, other });
    else owners.set(hostPatternText(pattern), origin);
    return [pattern];
  });
}
