// What Envoy or its peers would stumble over, found before they see it, all of it at once and without a key in any word.
import { describe, expect, test } from 'vitest';
import { epoch, hours, plus } from '../../../src/clock.ts';
import { LeafgateError } from '../../../src/errors.ts';
import { examineCredential, examineRoots } from '../../../src/x509/examine-credential.ts';
import { makeKey } from '../../support/ca-workshop.ts';
import {
  caPem,
  hoursAgo,
  issueCredential,
  makeCurrentCa,
  type CredentialRequest,
} from '../../support/credential-workshop.ts';

const ca = makeCurrentCa('test');
const now = epoch(Date.now());
const good = issueCredential(ca, { dnsNames: ['a.test'] });
const other = issueCredential(ca, { dnsNames: ['b.test'] });

function examine(certificate: string, key: string, purpose: 'serverAuth' | 'clientAuth' = 'serverAuth'): string[] {
  try {
    examineCredential(
      {
        certificate: { text: Buffer.from(certificate), source: 'tls.crt' },
        key: { text: Buffer.from(key), source: 'tls.key' },
      },
      { purpose, now },
    );
    return [];
  } catch (thrown) {
    const error = LeafgateError.from(thrown);
    const faults = error.problems.length > 0 ? error.problems : [error];
    for (const { message } of faults) expect(message).not.toMatch(/MII|BEGIN/);
    return faults.map(({ code }) => code);
  }
}

const issued = (request: CredentialRequest): readonly [string, string] => {
  const { certificatePem, keyPem } = issueCredential(ca, request);
  return [certificatePem, keyPem];
};

describe('a certificate with its key', () => {
  test.each<[string, readonly [string, string]]>([
    ['of P-256', [good.certificatePem, good.keyPem]],
    ['with its CA after it', [good.certificatePem + caPem(ca), good.keyPem]],
    ['with text between, as openssl writes it', [`Certificate:\n  Data:\n${good.certificatePem}`, good.keyPem]],
    ['of P-384', issued({ keyKind: 'P-384' })],
    ['of P-521', issued({ keyKind: 'P-521' })],
    ['of Ed25519', issued({ keyKind: 'Ed25519' })],
    ['of RSA', issued({ keyKind: 'RSA-2048' })],
    ['for any purpose', issued({ purposes: [] })],
  ])('%s is good', (_, [certificate, key]) => {
    expect(examine(certificate, key)).toEqual([]);
  });

  test('is good with a key in the older encodings', () => {
    const key = makeKey('RSA-2048');
    const pair = issueCredential(ca, { key });
    for (const type of ['pkcs1', 'pkcs8'] as const) {
      expect(examine(pair.certificatePem, key.export({ format: 'pem', type }).toString())).toEqual([]);
    }
    const curve = makeKey('P-256');
    const sec1 = curve.export({ format: 'pem', type: 'sec1' }).toString();
    const parameters = '-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n';
    expect(examine(issueCredential(ca, { key: curve }).certificatePem, parameters + sec1)).toEqual([]);
  });

  test.each<[string, readonly [string, string], readonly string[]]>([
    ['has expired', issued({ notAfter: hoursAgo(0.01) }), ['credential-expired']],
    [
      'is not valid yet',
      issued({ notBefore: plus(now, hours(1)), notAfter: plus(now, hours(2)) }),
      ['credential-not-yet-valid'],
    ],
    ['is for clients only', issued({ purposes: ['client'] }), ['credential-wrong-purpose']],
    ['has a key that is too short', issued({ keyKind: 'RSA-1024' }), ['credential-key-kind']],
    ['has a key of an odd curve', issued({ keyKind: 'secp256k1' }), ['credential-key-kind']],
    ['has the key of another', [good.certificatePem, other.keyPem], ['credential-key-mismatch']],
    ['stands after that of its CA', [caPem(ca) + good.certificatePem, good.keyPem], ['credential-key-mismatch']],
    ['has no key', [good.certificatePem, '# nothing\n'], ['credential-key-missing']],
    ['has two keys', [good.certificatePem, good.keyPem + good.keyPem], ['credential-key-missing']],
    ['has an encrypted key', [good.certificatePem, encrypted()], ['credential-key-encrypted']],
    [
      'has a key that is junk',
      [good.certificatePem, '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n'],
      ['credential-key-unreadable'],
    ],
    ['has a key cut off', [good.certificatePem, good.keyPem.slice(0, -40)], ['pem-broken-block']],
    ['is cut off', [good.certificatePem.slice(0, -40), good.keyPem], ['pem-broken-block']],
    ['is empty', ['', good.keyPem], ['pem-empty']],
    ['has its key in the same file', [good.certificatePem + good.keyPem, good.keyPem], ['pem-private-key']],
    [
      'is wrong in three ways',
      [issued({ notAfter: hoursAgo(0.01), purposes: ['client'] })[0], other.keyPem],
      ['credential-expired', 'credential-wrong-purpose', 'credential-key-mismatch'],
    ],
    ['is broken in both files', ['x', 'y'], ['pem-empty', 'credential-key-missing']],
  ])('that %s is refused with each fault', (_, [certificate, key], codes) => {
    expect(examine(certificate, key)).toEqual(codes);
  });

  test('is judged by what it is shown for', () => {
    const [certificate, key] = issued({ purposes: ['client'] });
    expect(examine(certificate, key, 'clientAuth')).toEqual([]);
    const [forServers, itsKey] = issued({ purposes: ['server'] });
    expect(examine(forServers, itsKey, 'clientAuth')).toEqual(['credential-wrong-purpose']);
  });
});

describe('roots', () => {
  const read = (text: string) => examineRoots({ text: Buffer.from(text), source: 'clients.pem' }, now);

  test('are taken when one CA among them is valid', () => {
    expect(read(caPem(ca))).toHaveLength(1);
    expect(read(good.certificatePem + caPem(ca))).toHaveLength(2);
  });

  test('are refused when none is a CA that is valid now, and when they hold a key', () => {
    expect(() => read(good.certificatePem)).toThrow(expect.objectContaining({ code: 'roots-no-ca' }));
    expect(() => read('')).toThrow(expect.objectContaining({ code: 'pem-empty' }));
    expect(() => read(caPem(ca) + good.keyPem)).toThrow(expect.objectContaining({ code: 'pem-private-key' }));
    const late = examineRoots;
    expect(() => late({ text: Buffer.from(caPem(ca)), source: 'x' }, plus(now, hours(24 * 365)))).toThrow(
      expect.objectContaining({ code: 'roots-no-ca' }),
    );
  });
});

function encrypted(): string {
  return makeKey().export({ format: 'pem', type: 'pkcs8', cipher: 'aes-256-cbc', passphrase: 'x' }).toString();
}
