// The part `spec.sds` of an EgressGateway: how Envoy reaches the SDS server, and what leaves it mints. Pure.
import type { SdsSpec, SdsTls } from './egress-gateway-types.ts';
import { egressGatewayLimits } from './egress-gateway-limits.ts';
import type { Field, FieldReader } from './field-reader.ts';
import { objectNameRule, type TextRule } from './kubernetes-names.ts';
import { quantitySettings } from './quantity-settings.ts';
import { millis } from '../clock.ts';

const { leafTtl } = quantitySettings;
const transports = ['UnixSocket', 'TCP'] as const;
const tlsKeys = ['enabled', 'secretRef', 'clientSecretRef', 'allowedSANs', 'allowAnyClient', 'insecureSkipVerify'];

/** a DNS name, a URI (SPIFFE-ID section 2.3 has the length) or, as the last resort, a common name */
export const allowedSanRule: TextRule = {
  isRight: (text) => text.length <= 2048 && /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(text),
  expected: 'a DNS name or a URI of a client certificate, in printable ASCII',
  example: 'spiffe://cluster.local/ns/egress/sa/envoy',
};

export function readSds(field: Field, reader: FieldReader): SdsSpec {
  const sds = reader.map(field, ['transport', 'leafLifetime', 'allowEd25519', 'tls']) ?? absent(field);
  const transport = reader.choice(sds('transport'), transports, 'UnixSocket');
  const tls = readTls(sds('tls'), reader);
  if (tls !== undefined && transport !== 'TCP') {
    const hint = 'take it out, or set spec.sds.transport to TCP';
    reader.clash(sds('tls'), 'is for the transport TCP: a unix socket is guarded by who may open it', hint);
  }
  return {
    transport,
    leafLifetimeMs: reader.duration(sds('leafLifetime'), leafTtl) ?? millis(leafTtl.default),
    allowEd25519: reader.flag(sds('allowEd25519'), false),
    tls,
  };
}

function readTls(field: Field, reader: FieldReader): SdsTls | undefined {
  if (field.value === undefined) return undefined;
  const tls = reader.map(field, tlsKeys);
  if (tls === undefined) return undefined;
  const sans = reader
    .items(tls('allowedSANs'), { most: egressGatewayLimits.allowedSans, example: allowedSanRule.example })
    .flatMap((item) => reader.text(item, allowedSanRule) ?? []);
  const read = {
    enabled: reader.flag(tls('enabled'), true),
    secretName: readSecretRef(tls('secretRef'), reader),
    clientSecretName: readSecretRef(tls('clientSecretRef'), reader),
    allowedSans: [...new Set(sans)],
    allowAnyClient: reader.flag(tls('allowAnyClient'), false),
    insecureSkipVerify: reader.flag(tls('insecureSkipVerify'), false),
  };
  checkClients(tls('allowedSANs'), read, reader);
  return read;
}

function checkClients(field: Field, { enabled, allowedSans, allowAnyClient }: SdsTls, reader: FieldReader): void {
  if (allowAnyClient && allowedSans.length > 0) {
    reader.clash(field, 'lists clients, and allowAnyClient lets every one in', 'keep one of the two');
  }
  if (enabled && !allowAnyClient && isEmpty(field)) {
    const hint = 'list the names in the certificates of Envoys, or set allowAnyClient: true';
    reader.clash(field, 'names no client, so that none could connect', hint);
  }
}

/** a list with problems is not empty */
function isEmpty({ value }: Field): boolean {
  return value === undefined || (Array.isArray(value) && value.length === 0);
}

function readSecretRef(field: Field, reader: FieldReader): string | undefined {
  if (field.value === undefined) return undefined;
  const ref = reader.map(field, ['name']);
  return ref && reader.needed(ref('name'), objectNameRule, 'name the Secret, as `secretRef: {name: egress-sds}`');
}

/** what is no map is a problem already; its fields are as if they were not there */
function absent({ path }: Field): (key: string) => Field {
  return (key) => ({ path: `${path}.${key}`, value: undefined });
}
