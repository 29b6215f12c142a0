// What is wrong with the Secrets of the channel between Envoy and an SDS server, before either of them is started with them. The
// server's is judged as the server itself does, and each side as the other will. Pure; no key ever gets into a word.
import { examineChannelMaterial } from '../channel/channel-material.ts';
import { judgePeer } from '../channel/judge-peer.ts';
import type { AllowedClients } from '../settings/sds-server-settings.ts';
import { isVerifiedBy, type PeerChain } from '../channel/verify-again.ts';
import type { EpochMs } from '../clock.ts';
import { problemsOf, type LeafgateError } from '../errors.ts';
import type { Certificate } from '../x509/certificate-types.ts';
import { examineRoots } from '../x509/examine-credential.ts';
import { parseCertificateBundle } from '../x509/pem.ts';
import type { SecretContent } from './controller-types.ts';
import { examineTlsKeys, namedKey } from './examine-tls-secret.ts';
import { sayFirst, secretText } from './judge.ts';

export type ChannelFault = {
  readonly reason:
    | 'SecretMalformed'
    | 'SecretSANsMismatch'
    | 'ClientNotAllowed'
    | 'SecretKeyMismatch'
    | 'SecretExpired'
    | 'ChainNotVerified';
  readonly message: string;
};

/** What a Secret holds, as far as it can be read. */
export type ChannelReading = {
  readonly content: SecretContent;
  readonly chain: PeerChain | undefined;
  /** what the other side is verified with */
  readonly roots: readonly Certificate[];
  readonly faults: readonly ChannelFault[];
};

/** `serverName` undefined: Envoy compares none */
export function examineServerSecret(
  content: SecretContent,
  { serverName, now }: { readonly serverName: string | undefined; readonly now: EpochMs },
): ChannelReading {
  return readSecret(content, () => {
    const [certificate, key, roots] = [namedKey(content, 'tls.crt'), namedKey(content, 'tls.key'), rootsKey(content)];
    return faultsOf(() => examineChannelMaterial({ certificate, key, roots }, { serverName, now }));
  });
}

export function examineClientSecret(content: SecretContent, now: EpochMs): ChannelReading {
  return readSecret(content, () => {
    const { faults } = examineTlsKeys(content, { purpose: 'clientAuth', now });
    return [
      ...faults.map(({ kind, message }) => ({ reason: kindReasons[kind], message })),
      ...faultsOf(() => examineRoots(rootsKey(content), now)),
    ];
  });
}

const kindReasons = {
  malformed: 'SecretMalformed',
  'key-mismatch': 'SecretKeyMismatch',
  expired: 'SecretExpired',
} as const;

export type PairTerms = {
  readonly clients: AllowedClients;
  /** false: Envoy takes any server */
  readonly verifiesServer: boolean;
  readonly now: EpochMs;
};

/** What each side will find wrong with the other. */
export function examinePair(server: ChannelReading, client: ChannelReading, terms: PairTerms): readonly ChannelFault[] {
  const { clients, verifiesServer, now } = terms;
  return [
    ...(client.chain === undefined ? [] : clientFaults(client.content, client.chain.leaf, clients)),
    ...(verifiesServer ? chainFaults(server, client, now) : []),
    ...chainFaults(client, server, now),
  ];
}

function clientFaults(content: SecretContent, leaf: Certificate, clients: AllowedClients): readonly ChannelFault[] {
  const verdict = judgePeer(leaf, clients);
  // its usage is a fault of the Secret, and told there
  if (verdict.kind === 'allowed' || verdict.reason === 'not-for-clients') return [];
  const names = verdict.names.length === 0 ? 'no name' : sayFirst(verdict.names, mostNames);
  const message = `tls.crt of ${secretText(content)}, which Envoy shows, has ${names}, and spec.sds.tls.allowedSANs none of it: exact names count`;
  return [{ reason: 'ClientNotAllowed', message }];
}

const mostNames = 10;

/** Only what is certain: name constraints, and an anchor that is no root, are left to the handshake. */
function chainFaults(shown: ChannelReading, verifier: ChannelReading, now: EpochMs): readonly ChannelFault[] {
  const { chain } = shown;
  const { roots } = verifier;
  if (chain === undefined || roots.length === 0 || chain.leaf.notAfter < now || chain.leaf.notBefore > now) return [];
  const isLeftOpen = [...roots, ...chain.sent].some((one) => one.nameConstraints !== undefined);
  const hasPartial = roots.some((root) => Buffer.compare(root.subjectDer, root.issuerDer) !== 0);
  if (isLeftOpen || hasPartial || isVerifiedBy(roots, chain, now)) return [];
  const message = `tls.crt of ${secretText(shown.content)} is not verified by ca.crt of ${secretText(verifier.content)}: its issuer, or a CA between, is missing`;
  return [{ reason: 'ChainNotVerified', message }];
}

const channelKeys = ['tls.crt', 'tls.key', 'ca.crt'] as const;
const channelTypes: readonly string[] = ['kubernetes.io/tls', 'Opaque'];

/** Keys that are missing are listed at once, since they are missing together. */
function readSecret(content: SecretContent, examine: () => readonly ChannelFault[]): ChannelReading {
  const name = secretText(content);
  const wrongType = channelTypes.includes(content.type)
    ? []
    : [malformed(`${name} has the type ${content.type}, where kubernetes.io/tls or Opaque is expected`)];
  const missing = channelKeys.filter((key) => namedKey(content, key).text.length === 0);
  const faults = missing.length > 0 ? [malformed(`${name} lacks ${missing.join(', ')}`)] : examine();
  const [leaf, ...sent] = certificatesIn(content, 'tls.crt');
  return {
    ...{ content, roots: certificatesIn(content, 'ca.crt'), faults: [...wrongType, ...faults] },
    chain: leaf && { leaf, sent },
  };
}

/** none where they cannot be read: that is told as a fault */
function certificatesIn(content: SecretContent, key: (typeof channelKeys)[number]): readonly Certificate[] {
  const { text, source } = namedKey(content, key);
  try {
    return parseCertificateBundle(text, source, 'anywhere');
  } catch {
    return [];
  }
}

function rootsKey(content: SecretContent): ReturnType<typeof namedKey> {
  return namedKey(content, 'ca.crt');
}

function faultsOf(examine: () => unknown): readonly ChannelFault[] {
  try {
    examine();
    return [];
  } catch (thrown) {
    return problemsOf(thrown).map((problem) => ({ reason: reasonOf(problem), message: problem.message }));
  }
}

function reasonOf({ code }: LeafgateError): ChannelFault['reason'] {
  switch (code) {
    case 'credential-key-mismatch':
      return 'SecretKeyMismatch';
    case 'credential-expired':
    case 'credential-not-yet-valid':
      return 'SecretExpired';
    case 'channel-wrong-name':
      return 'SecretSANsMismatch';
    default:
      return 'SecretMalformed';
  }
}

function malformed(message: string): ChannelFault {
  return { reason: 'SecretMalformed', message };
}
