// From `spec` of an EgressGateway to what it says, or to everything that is wrong with it. Its policy goes through the
// reader of policy files. Pure.
import { retainForRange, egressGatewayLimits } from './egress-gateway-limits.ts';
import { readCaBundleRef, readOriginsPart } from './egress-gateway-origins.ts';
import { readSds } from './egress-gateway-sds.ts';
import { readTerms } from './egress-gateway-terms.ts';
import type { EgressGatewaySpec, ReadTrust, TrustBundleSpec } from './egress-gateway-types.ts';
import type { Field, FieldMap, FieldReader } from './field-reader.ts';
import * as names from './kubernetes-names.ts';
import { sdsNameOf } from './pod-layout.ts';
import { policyObject } from './policy-object.ts';
import { PolicyReader } from './policy-reader.ts';
import { policyKeys, readPolicyWithDryRun } from './policy-with-dry-run.ts';
import { renderPolicyFile } from './render-policy-file.ts';

const specKeys = [
  ...['caPool', 'trustBundle', 'servingTLS', 'origins', 'clients', 'sds', 'policy', 'deploymentName'],
  ...['listener', 'destinations', 'limits'],
];
const trustBundleKeys = ['signerName', 'name', 'labels', 'retainFor', 'deletionPolicy'];
/** labels and annotations of ours say whose a bundle is */
const ownLabelDomain = 'leafgate.dev';

export type SpecReading = {
  /** undefined where anything was wrong */
  readonly spec: EgressGatewaySpec | undefined;
  readonly trust: ReadTrust;
};

const noTrust: ReadTrust = { caPool: undefined, trustBundle: undefined, allowEd25519: false };

/** `gatewayName` is what the Deployment is called where nothing is said. */
export function readSpec(field: Field, gatewayName: string, reader: FieldReader): SpecReading {
  if (field.value === undefined) reader.missing(field, 'see docs/egress-gateway.md for what it holds');
  const part = field.value === undefined ? undefined : reader.map(field, specKeys);
  if (part === undefined) return { spec: undefined, trust: noTrust };
  const secretName = readPool(part('caPool'), reader);
  const trustBundle = readTrustBundle(part('trustBundle'), reader);
  const servingTls = readServingTls(part('servingTLS'), reader);
  const origins = readOriginsPart(part('origins'), reader);
  const caBundle = readClients(part('clients'), reader);
  const sds = readSds(part('sds'), reader);
  const policies = readPolicies(part('policy'), reader);
  const deploymentName = reader.text(part('deploymentName'), names.objectNameRule) ?? gatewayName;
  const gateway = readTerms(part, reader);
  checkFront(part, reader);
  if (sds.transport === 'TCP' && deploymentName === sdsNameOf(gatewayName)) refuseSharedName(part, reader);
  const { allowEd25519 } = sds;
  const trust = { caPool: secretName === undefined ? undefined : { secretName }, trustBundle, allowEd25519 };
  if (secretName === undefined || trustBundle === undefined || policies === undefined || gateway === undefined) {
    return { spec: undefined, trust };
  }
  const caPool = { secretName };
  const clients = { caBundle };
  const spec = { caPool, trustBundle, servingTls, origins, clients, sds, ...policies, deploymentName, gateway };
  return { spec, trust };
}

function readPool(field: Field, reader: FieldReader): string | undefined {
  const pool = reader.map(field, ['secretName']);
  const hint = 'name the Secret that `leafgate pool create --secret` made';
  return pool && reader.needed(pool('secretName'), names.objectNameRule, hint);
}

function readTrustBundle(field: Field, reader: FieldReader): TrustBundleSpec | undefined {
  const bundle = reader.map(field, trustBundleKeys);
  if (bundle === undefined) return undefined;
  const signerHint = 'state it, as `signerName: egress.example.com/mitm`: you must be allowed to attest it';
  const signerName = reader.needed(bundle('signerName'), names.signerNameRule, signerHint);
  const nameHint = 'state what stands after the signer in its name, as `name: egress`';
  const name = reader.needed(bundle('name'), names.objectNameRule, nameHint);
  const labels = readLabels(bundle('labels'), reader);
  const retainForMs = reader.duration(bundle('retainFor'), retainForRange) ?? retainForRange.byDefault;
  const deletionPolicy = reader.choice(bundle('deletionPolicy'), ['Delete', 'Retain'] as const, 'Delete');
  if (signerName === undefined || name === undefined) return undefined;
  const objectName = names.bundleObjectName(signerName, name);
  return { signerName, name, objectName, labels, retainForMs, deletionPolicy };
}

function readLabels(field: Field, reader: FieldReader): Readonly<Record<string, string>> {
  const entries = [...(reader.entries(field, names.labelKeyRule.example) ?? [])];
  if (entries.length > egressGatewayLimits.labels) {
    reader.tooMany(field, { count: entries.length, most: egressGatewayLimits.labels });
  }
  const labels = entries.slice(0, egressGatewayLimits.labels).flatMap(([key, value]) => {
    const of = (shown: unknown): Field => ({ path: `${field.path}[${JSON.stringify(key)}]`, value: shown });
    if (!names.labelKeyRule.isRight(key)) reader.wrong(of(key), names.labelKeyRule);
    else if (isOwnLabel(key)) {
      reader.clash(of(key), `is of ${ownLabelDomain}, whose labels leafgate itself sets`, 'take another domain');
    }
    const text = reader.text(of(value), names.labelValueRule);
    return text === undefined ? [] : [[key, text] as const];
  });
  return Object.fromEntries(labels);
}

function isOwnLabel(key: string): boolean {
  const [domain = ''] = key.split('/', 1);
  return key.includes('/') && (domain === ownLabelDomain || domain.endsWith(`.${ownLabelDomain}`));
}

function readServingTls(field: Field, reader: FieldReader): { readonly secretName: string } | undefined {
  if (field.value === undefined) return undefined;
  const serving = reader.map(field, ['secretName']);
  const hint = 'name a Secret of type kubernetes.io/tls, as `secretName: egress-serving`';
  const secretName = serving && reader.needed(serving('secretName'), names.objectNameRule, hint);
  return secretName === undefined ? undefined : { secretName };
}

function readClients(field: Field, reader: FieldReader): EgressGatewaySpec['clients']['caBundle'] {
  const clients = reader.map(field, ['caBundleRef']);
  return clients && readCaBundleRef(clients('caBundleRef'), reader);
}

/** the two have different files to start with: one Deployment under both would be rolled for each of them in turn, for ever */
function refuseSharedName(part: FieldMap, reader: FieldReader): void {
  const detail = 'is what the Deployment of its SDS servers is called, with spec.sds.transport TCP';
  reader.clash(part('deploymentName'), detail, "name the Deployment with the gateway's Envoy, or leave it out");
}

/** What only means something for clients that speak TLS to the proxy. */
function checkFront(part: FieldMap, reader: FieldReader): void {
  if (part('servingTLS').value !== undefined) return;
  for (const [outer, inner] of [
    ['clients', 'caBundleRef'],
    ['listener', 'tlsPort'],
  ] as const) {
    const { path, value } = part(outer);
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, inner)) continue;
    const detail = 'is for clients that speak TLS to the proxy, and there is no spec.servingTLS';
    const hint = 'take it out, or create the gateway with spec.servingTLS';
    reader.clash({ path: `${path}.${inner}`, value: undefined }, detail, hint);
  }
}

type Policies = Pick<EgressGatewaySpec, 'policy' | 'dryRun' | 'policyText'>;

function readPolicies(field: Field, reader: FieldReader): Policies | undefined {
  if (field.value === undefined) {
    reader.missing(field, 'state at least the default, as `policy: {default: deny}`');
    return undefined;
  }
  const { root, places, problems: found } = policyObject(field.value, field.path);
  const policyReader = new PolicyReader(places);
  for (const problem of found) policyReader.keep(problem);
  const fields = policyReader.map(root, field.path, policyKeys);
  const read = fields && readPolicyWithDryRun(fields, root.at, policyReader, { place: field.path, isOwn: false });
  const problems = policyReader.problems();
  for (const problem of problems) reader.keep(problem);
  if (read?.policy === undefined || problems.length > 0) return undefined;
  const { policy, dryRun } = read;
  return { policy, dryRun, policyText: renderPolicyFile({ ...read, policy, origins: [] }) };
}
