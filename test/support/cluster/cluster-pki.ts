// The certificates, tokens and kubeconfigs of one throw-away control plane, as files in its folder. Two authorities, one that
// clients trust and one that the API server does, so that the first can change while users keep their certificates.
import { generateKeyPairSync, randomBytes, type KeyObject } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { days, epoch, plus } from '../../../src/clock.ts';
import { extension, keyUsageExtension, leafBasicConstraintsExtension } from '../../../src/x509/encode-extensions.ts';
import { contextPrimitive, encodeAsn1, objectId, sequence, setOf, utf8String } from '../../../src/x509/forge-asn1.ts';
import type { Asn1Node } from '../../../src/x509/forge-asn1.ts';
import { objectIds } from '../../../src/x509/object-ids.ts';
import { encodePem } from '../../../src/x509/pem.ts';
import { encodeBlueprint, makeKey, type MadeCa } from '../ca-workshop.ts';
import { caPem, hoursAgo, makeCurrentCa } from '../credential-workshop.ts';

export type ClusterUser = {
  readonly kubeconfigFile: string;
  readonly tokenFile: string;
  readonly token: string;
  readonly certFile: string;
  readonly keyFile: string;
};

export type ClusterPki = {
  readonly folder: string;
  readonly users: ReadonlyMap<string, ClusterUser>;
  /** what clients trust the API server by */
  readonly caFile: string;
  /** what the API server reads; everything else of it is in `apiServerFlags` */
  readonly apiServerFlags: readonly string[];
  /** a new authority for the API server's certificate; seen by the server that starts next */
  renewServingCa(): void;
};

/** number of the choice in GeneralName (RFC 5280 4.2.1.6) */
const iPAddress = 7;
const loopback = Uint8Array.of(127, 0, 0, 1);

/** `users`: `name`, or `name:group,group` */
export function writeClusterPki(folder: string, url: string, users: readonly string[]): ClusterPki {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const file = (name: string): string => join(folder, name);
  const write = (name: string, text: string): string => {
    writeFileSync(file(name), text, { mode: 0o600 });
    return file(name);
  };
  const clientCa = makeCurrentCa('cluster clients');
  const clientCaFile = write('client-ca.crt', caPem(clientCa));
  const caFile = file('ca.crt');
  const renewServingCa = (): void => {
    const ca = makeCurrentCa(`cluster ${randomBytes(4).toString('hex')}`);
    write('ca.crt', caPem(ca));
    const { certificatePem, keyPem } = issue(ca, { commonName: 'kube-apiserver', groups: [], purpose: 'serverAuth' });
    write('apiserver.crt', certificatePem);
    write('apiserver.key', keyPem);
  };
  renewServingCa();
  const made = new Map<string, ClusterUser>();
  const tokenLines: string[] = [];
  for (const { commonName, name, groups } of ['admin:system:masters', ...users].map(readUser).concat(kubelet)) {
    const { certificatePem, keyPem } = issue(clientCa, { commonName, groups, purpose: 'clientAuth' });
    const token = randomBytes(16).toString('hex');
    // an empty column would be a group without a name
    tokenLines.push([token, commonName, commonName, ...(groups.length > 0 ? [`"${groups.join(',')}"`] : [])].join(','));
    const certFile = write(`${name}.crt`, certificatePem);
    const keyFile = write(`${name}.key`, keyPem);
    made.set(name, {
      ...{ certFile, keyFile, token, tokenFile: write(`${name}.token`, token) },
      kubeconfigFile: write(`${name}.kubeconfig`, kubeconfig({ url, caFile, certFile, keyFile })),
    });
  }
  const serviceAccount = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const apiServerFlags = [
    `--tls-cert-file=${file('apiserver.crt')}`,
    `--tls-private-key-file=${file('apiserver.key')}`,
    `--client-ca-file=${clientCaFile}`,
    `--token-auth-file=${write('tokens.csv', `${tokenLines.join('\n')}\n`)}`,
    `--service-account-key-file=${write('sa.pub', pemOf(serviceAccount.publicKey, 'spki'))}`,
    `--service-account-signing-key-file=${write('sa.key', pemOf(serviceAccount.privateKey, 'pkcs8'))}`,
  ];
  return { folder, users: made, caFile, apiServerFlags, renewServingCa };
}

type NamedUser = { readonly commonName: string; readonly name: string; readonly groups: readonly string[] };

/** the node authorizer knows kubelets by this name and group; the files are called after the role */
const kubelet: NamedUser = { commonName: 'system:node:node-1', name: 'kubelet', groups: ['system:nodes'] };

function readUser(text: string): NamedUser {
  const [name = '', ...rest] = text.split(':');
  if (!/^[\w.-]+$/.test(name)) throw new Error(`a user's name is also that of files: ${text}`);
  const groups = rest.join(':');
  return { commonName: name, name, groups: groups === '' ? [] : groups.split(',') };
}

type Subject = {
  readonly commonName: string;
  readonly groups: readonly string[];
  readonly purpose: 'serverAuth' | 'clientAuth';
};

/** Kubernetes takes the user from the common name and the groups from the organisations */
function issue(
  issuer: MadeCa,
  { commonName, groups, purpose }: Subject,
): { readonly certificatePem: string; readonly keyPem: string } {
  const key = makeKey();
  const attribute = (id: string, text: string): Asn1Node => setOf(sequence(objectId(id), utf8String(text)));
  const subject = sequence(
    ...groups.map((group) => attribute(objectIds.organisation, group)),
    attribute(objectIds.commonName, commonName),
  );
  const names = extension(objectIds.subjectAltName, 'plain', sequence(contextPrimitive(iPAddress, loopback)));
  const der = encodeBlueprint({
    ...{ key, issuer, subjectDer: encodeAsn1(subject), notBefore: hoursAgo(1) },
    notAfter: plus(epoch(Date.now()), days(1)),
    extensions: (good) => [
      leafBasicConstraintsExtension(),
      keyUsageExtension('digitalSignature'),
      ...good.authorityKeyId,
      extension(objectIds.extendedKeyUsage, 'plain', sequence(objectId(objectIds[purpose]))),
      ...(purpose === 'serverAuth' ? [names] : []),
    ],
  });
  return { certificatePem: encodePem('CERTIFICATE', der), keyPem: pemOf(key, 'pkcs8') };
}

function pemOf(key: KeyObject, type: 'pkcs8' | 'spki'): string {
  return key.export({ format: 'pem', type }).toString();
}

type ConfigParts = { readonly url: string; readonly caFile: string };

function kubeconfig(parts: ConfigParts & { readonly certFile: string; readonly keyFile: string }): string {
  return kubeconfigOf(parts, `client-certificate: '${parts.certFile}', client-key: '${parts.keyFile}'`);
}

export function kubeconfigWithToken(parts: ConfigParts & { readonly tokenFile: string }): string {
  return kubeconfigOf(parts, `tokenFile: '${parts.tokenFile}'`);
}

/** YAML, as users have it */
function kubeconfigOf({ url, caFile }: ConfigParts, user: string): string {
  return `apiVersion: v1
kind: Config
clusters:
  - name: test
    cluster: { server: '${url}', certificate-authority: '${caFile}' }
users:
  - name: user
    user: { ${user} }
contexts:
  - name: test
    context: { cluster: test, user: user }
current-context: test
`;
}
