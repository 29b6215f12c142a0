// The parts `spec.origins` and `spec.clients` of an EgressGateway: who is trusted on both sides, and which origins see a
// certificate of the gateway. Pure.
import { hostPatternText } from '../names/host-pattern.ts';
import type { HostPattern } from '../names/name-types.ts';
import { caBundleKeyByDefault, egressGatewayLimits } from './egress-gateway-limits.ts';
import type { ClientCertificateChoice, ConfigMapKey, EgressGatewaySpec } from './egress-gateway-types.ts';
import type { Field, FieldReader } from './field-reader.ts';
import { dataKeyRule, objectNameRule } from './kubernetes-names.ts';
import { isReservedHost, meantTarget, parseOriginHost } from './policy-targets.ts';

const { clientCertificates: maxCertificates, hostsOfClientCertificate: maxHosts } = egressGatewayLimits;

export function readOriginsPart(field: Field, reader: FieldReader): EgressGatewaySpec['origins'] {
  const origins = reader.map(field, ['caBundleRef', 'clientCertificates']);
  if (origins === undefined) return { caBundle: undefined, clientCertificates: [] };
  const owners = new Map<string, string>();
  const secrets = new Map<string, string>();
  const example = '{hosts: [mtls.example.com], secretName: partner-client}';
  const choices = reader.items(origins('clientCertificates'), { most: maxCertificates, example });
  return {
    caBundle: readCaBundleRef(origins('caBundleRef'), reader),
    clientCertificates: choices.flatMap((item) => readChoice(item, { reader, owners, secrets }) ?? []),
  };
}

/** Undefined where it is absent, or a problem. */
export function readCaBundleRef(field: Field, reader: FieldReader): ConfigMapKey | undefined {
  if (field.value === undefined) return undefined;
  const ref = reader.map(field, ['name', 'key']);
  if (ref === undefined) return undefined;
  const name = reader.needed(ref('name'), objectNameRule, 'name the ConfigMap, as `name: private-roots`');
  const key = ref('key').value === undefined ? caBundleKeyByDefault : reader.text(ref('key'), dataKeyRule);
  return name === undefined || key === undefined ? undefined : { name, key };
}

type Reading = {
  readonly reader: FieldReader;
  /** host or suffix -> the path of the choice that lists it */
  readonly owners: Map<string, string>;
  /** Secret -> the path of the choice that names it */
  readonly secrets: Map<string, string>;
};

function readChoice(field: Field, reading: Reading): ClientCertificateChoice | undefined {
  const { reader, secrets } = reading;
  const choice = reader.map(field, ['secretName', 'hosts']);
  if (choice === undefined) return undefined;
  const hint = 'name the Secret with tls.crt and tls.key, as `secretName: partner-client`';
  const secretName = reader.needed(choice('secretName'), objectNameRule, hint);
  const other = secretName === undefined ? undefined : secrets.get(secretName);
  if (other !== undefined) {
    reader.clash(choice('secretName'), `is that of ${other} already`, 'list all its hosts there');
  } else if (secretName !== undefined) secrets.set(secretName, field.path);
  const hosts = readHosts(choice('hosts'), field.path, reading);
  return secretName === undefined ? undefined : { hosts, secretName };
}

function readHosts(field: Field, owner: string, { reader, owners }: Reading): readonly HostPattern[] {
  if (field.value === undefined || (Array.isArray(field.value) && field.value.length === 0)) {
    reader.missing(field, 'list its hosts, as `hosts: [mtls.example.com]`');
  }
  return reader.items(field, { most: maxHosts, example: 'mtls.example.com' }).flatMap((item) => {
    const meant = { expected: 'a host name or *.suffix', example: meantHost(item) };
    const pattern = reader.parsed(item, meant, parseFreeOriginHost);
    if (pattern === undefined) return [];
    const other = owners.get(hostPatternText(pattern));
    if (other !== undefined) {
      reader.clash(item, `belongs to ${other} already`, 'leave it to one of them: a connection shows one certificate');
    } else owners.set(hostPatternText(pattern), owner);
    return [pattern];
  });
}

function parseFreeOriginHost(text: string): HostPattern | undefined {
  const pattern = parseOriginHost(text);
  return pattern === undefined || isReservedHost(pattern) ? undefined : pattern;
}

function meantHost({ value }: Field): string {
  return typeof value === 'string' ? meantTarget(value) : 'mtls.example.com or "*.example.com"';
}
