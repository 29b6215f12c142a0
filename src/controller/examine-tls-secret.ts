// What is wrong with a Secret of type kubernetes.io/tls before anybody uses it: the API server takes empty keys, and Envoy
// takes an expired certificate without a word. Pure; no key ever gets into a word.
import type { EpochMs } from '../clock.ts';
import { problemsOf, type LeafgateError } from '../errors.ts';
import type { Certificate } from '../x509/certificate-types.ts';
import { examineCredential, type NamedText } from '../x509/examine-credential.ts';
import { parseCertificateBundle } from '../x509/pem.ts';
import type { SecretContent } from './controller-types.ts';
import { secretText } from './judge.ts';

export type TlsSecretFault = {
  readonly kind: 'malformed' | 'key-mismatch' | 'expired';
  readonly message: string;
};

export type TlsSecretReading = {
  /** the one that is shown in a handshake; undefined when it cannot be read */
  readonly first: Certificate | undefined;
  readonly faults: readonly TlsSecretFault[];
};

export type TlsSecretTerms = { readonly purpose: 'serverAuth' | 'clientAuth'; readonly now: EpochMs };

const tlsType = 'kubernetes.io/tls';

export function examineTlsSecret(content: SecretContent, terms: TlsSecretTerms): TlsSecretReading {
  const wrongType =
    content.type === tlsType
      ? []
      : [malformed(`${secretText(content)} has the type ${content.type}, where ${tlsType} is expected`)];
  const reading = examineTlsKeys(content, terms);
  return { ...reading, faults: [...wrongType, ...reading.faults] };
}

/** tls.crt and tls.key alone, whatever the type */
export function examineTlsKeys(content: SecretContent, terms: TlsSecretTerms): TlsSecretReading {
  const [certificate, key] = [namedKey(content, 'tls.crt'), namedKey(content, 'tls.key')];
  const empty = [certificate, key].filter(({ text }) => text.length === 0);
  if (empty.length > 0) return { first: undefined, faults: empty.map(({ source }) => malformed(`${source} is empty`)) };
  return { first: readFirst(certificate), faults: credentialFaults({ certificate, key }, terms) };
}

/** no bytes where the key is missing */
export function namedKey(content: SecretContent, key: string): NamedText {
  const bytes = Object.hasOwn(content.data, key) ? content.data[key] : undefined;
  return { text: bytes?.reveal() ?? new Uint8Array(), source: `${key} of ${secretText(content)}` };
}

function credentialFaults(
  texts: { readonly certificate: NamedText; readonly key: NamedText },
  terms: TlsSecretTerms,
): readonly TlsSecretFault[] {
  try {
    examineCredential(texts, terms);
    return [];
  } catch (thrown) {
    return problemsOf(thrown).map((problem) => ({ kind: kindOf(problem), message: problem.message }));
  }
}

function kindOf({ code }: LeafgateError): TlsSecretFault['kind'] {
  switch (code) {
    case 'credential-key-mismatch':
      return 'key-mismatch';
    case 'credential-expired':
    case 'credential-not-yet-valid':
      return 'expired';
    default:
      return 'malformed';
  }
}

/** Also of a Secret that is at fault elsewhere: its names are worth telling in the same message. */
function readFirst({ text, source }: NamedText): Certificate | undefined {
  try {
    return parseCertificateBundle(text, source, 'anywhere')[0];
  } catch {
    return undefined;
  }
}

function malformed(message: string): TlsSecretFault {
  return { kind: 'malformed', message };
}
