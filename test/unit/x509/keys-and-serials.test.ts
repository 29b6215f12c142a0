import { createPrivateKey, createPublicKey, randomBytes, sign, verify } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { SecretBytes } from '../../../src/secret-bytes.ts';
import { createLeafKey } from '../../../src/x509/leaf-key.ts';
import {
  holdsPrivateKey,
  isPrivateKey,
  privateKeyFromDer,
  privateKeyFromPkcs8,
} from '../../../src/x509/private-key.ts';
import { createSerial, isUsableSerial } from '../../../src/x509/serial.ts';
import { makeCa, makeKey, testNow } from '../../support/ca-workshop.ts';

describe('a serial', () => {
  test.each([
    ['all zeros', 0x00, `40${'00'.repeat(15)}`],
    ['all ones', 0xff, `7f${'ff'.repeat(15)}`],
  ])('is positive and of 16 octets even when the randomness is %s', (_, octet, hex) => {
    const serial = createSerial((count) => new Uint8Array(count).fill(octet));
    expect(Buffer.from(serial).toString('hex')).toBe(hex);
    expect(isUsableSerial(serial)).toBe(true);
  });

  test('does not repeat in ten thousand', () => {
    const serials = Array.from({ length: 10_000 }, () => Buffer.from(createSerial(randomBytes)).toString('hex'));
    expect(new Set(serials).size).toBe(10_000);
    expect(serials.every((hex) => /^[4-7][0-9a-f]{31}$/.test(hex))).toBe(true);
  });

  test('does not change the bytes that it was made from', () => {
    const source = new Uint8Array(16).fill(0xff);
    createSerial(() => source);
    expect(source).toEqual(new Uint8Array(16).fill(0xff));
  });
});

describe('a leaf key', () => {
  test('is a P-256 key whose two encodings belong together', () => {
    const key = createLeafKey(testNow);
    const privateKey = createPrivateKey(Buffer.from(key.privateKeyPem.reveal()));
    const publicKey = createPublicKey({ key: Buffer.from(key.spkiDer), format: 'der', type: 'spki' });
    expect(privateKey.asymmetricKeyDetails?.namedCurve).toBe('prime256v1');
    expect(createPublicKey(privateKey).equals(publicKey)).toBe(true);
    expect(verify('sha256', Buffer.from('x'), publicKey, sign('sha256', Buffer.from('x'), privateKey))).toBe(true);
    expect(key.createdAt).toBe(testNow);
  });

  test('is written exactly as OpenSSL writes it, also when its number is short', () => {
    // one key in 256 has a leading zero octet, which ECDH leaves out
    for (let count = 0; count < 1000; count += 1) {
      const pem = Buffer.from(createLeafKey(testNow).privateKeyPem.reveal()).toString();
      expect(createPrivateKey(pem).export({ format: 'pem', type: 'pkcs8' })).toBe(pem);
    }
  });
});

describe('a private key that is read', () => {
  const key = makeKey();
  const pkcs8 = key.export({ format: 'der', type: 'pkcs8' });

  test('may be PKCS#8, PKCS#1 or SEC 1', () => {
    const rsa = makeKey('RSA-2048');
    expect(privateKeyFromPkcs8(new SecretBytes(pkcs8)).equals(key)).toBe(true);
    expect(privateKeyFromDer(new SecretBytes(key.export({ format: 'der', type: 'sec1' })), 'sec1').equals(key)).toBe(
      true,
    );
    expect(privateKeyFromDer(new SecretBytes(rsa.export({ format: 'der', type: 'pkcs1' })), 'pkcs1').equals(rsa)).toBe(
      true,
    );
  });

  test.each<[string, Uint8Array]>([
    ['nothing', new Uint8Array()],
    ['rubbish', Buffer.from('rubbish')],
    ['a key cut off', pkcs8.subarray(0, -1)],
    ['a key with a byte after it', Buffer.concat([pkcs8, Buffer.alloc(1)])],
    ['a key in another encoding', key.export({ format: 'der', type: 'sec1' })],
    ['an encrypted key', key.export({ format: 'der', type: 'pkcs8', cipher: 'aes-256-cbc', passphrase: 'x' })],
    ['a public key', createPublicKey(key).export({ format: 'der', type: 'spki' })],
    ['more than 16 KiB', Buffer.alloc(16 * 1024 + 1)],
  ])('is refused when it is %s, and none of its bytes are shown', (_, bytes) => {
    let thrown: unknown;
    try {
      privateKeyFromPkcs8(new SecretBytes(bytes));
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toMatchObject({ code: 'private-key-unreadable' });
    expect((thrown as Error).cause).toBeUndefined();
    const hidden = Buffer.from(bytes).toString('base64').slice(0, 16);
    if (hidden.length === 16) expect(`${(thrown as Error).message} ${(thrown as Error).stack}`).not.toContain(hidden);
  });

  test('is told apart from a certificate, whatever its encoding', () => {
    for (const type of ['pkcs8', 'sec1'] as const) expect(isPrivateKey(key.export({ format: 'der', type }))).toBe(true);
    expect(isPrivateKey(makeCa().certificate.der)).toBe(false);
    expect(isPrivateKey(new Uint8Array(100_000))).toBe(false);
  });

  test('is found in a text whole or torn, and a digest or a name is none', () => {
    const base64 = key.export({ format: 'der', type: 'pkcs8' }).toString('base64');
    for (const text of [base64, base64.slice(1), `ca-1 ${base64.slice(37)}`, base64.slice(0, 90)])
      expect(holdsPrivateKey(text), text).toBe(true);
    for (const text of ['ca-622d01ec', 'a'.repeat(253), 'AB'.repeat(32), '0a1b2c3d'.repeat(8), base64.slice(0, 40)])
      expect(holdsPrivateKey(text), text).toBe(false);
  });
});
