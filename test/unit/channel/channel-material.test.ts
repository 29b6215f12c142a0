// The server's three files as one set: what is no good is told with all its faults, before anything is used.
import { beforeAll, describe, expect, test } from 'vitest';
import { examineChannelMaterial, rootsEndAt, type ChannelTexts } from '../../../src/channel/channel-material.ts';
import { epoch, hours, plus, systemClock } from '../../../src/clock.ts';
import { problemsOf } from '../../../src/errors.ts';
import { makeCa, type MadeCa } from '../../support/ca-workshop.ts';
import { casThatFill, channelFilesOf, serverName, type ChannelFiles } from '../../support/channel-workshop.ts';
import { caPem, hoursAgo, issueCredential, makeCurrentCa } from '../../support/credential-workshop.ts';

let ca: MadeCa;
beforeAll(() => (ca = makeCurrentCa('channel')));

function textsOf(files: ChannelFiles): ChannelTexts {
  const named = (name: keyof ChannelFiles) => ({ text: Buffer.from(files[name]), source: `/d/${name}` });
  return { certificate: named('tls.crt'), key: named('tls.key'), roots: named('ca.crt') };
}

const examine = (files: ChannelFiles, name: string | undefined = serverName) =>
  examineChannelMaterial(textsOf(files), { serverName: name, now: systemClock.now() });

function faultsOf(files: ChannelFiles, name?: string): readonly string[] {
  try {
    examine(files, name);
    return [];
  } catch (thrown) {
    return problemsOf(thrown).map(({ code }) => code);
  }
}

function messagesOf(files: ChannelFiles): readonly string[] {
  try {
    examine(files);
    return [];
  } catch (thrown) {
    return problemsOf(thrown).map(({ message }) => message);
  }
}

describe('a good set', () => {
  test('is taken, also with a wildcard that stands for the whole first label, and with no name to compare', () => {
    expect(examine(channelFilesOf(ca)).roots).toHaveLength(1);
    expect(examine(channelFilesOf(ca, { dnsNames: ['*.channel.test'] })).certificate.serialHex).not.toBe('');
    const other = channelFilesOf(ca, { dnsNames: ['other.test'] });
    expect(
      examineChannelMaterial(textsOf(other), { serverName: undefined, now: systemClock.now() }).roots,
    ).toHaveLength(1);
  });

  test('may have several CAs, of which one must be valid now; the first end of those is told', () => {
    const past = makeCa({ name: 'past', notBefore: hoursAgo(5), notAfter: hoursAgo(1) });
    const soon = makeCa({ name: 'soon', notBefore: hoursAgo(5), notAfter: plus(epoch(Date.now()), hours(2)) });
    const material = examine(channelFilesOf(ca, {}, [past, ca, soon]));
    expect(material.roots).toHaveLength(3);
    expect(rootsEndAt(material, systemClock.now())).toBe(soon.certificate.notAfter);
    expect(faultsOf(channelFilesOf(ca, {}, [past]))).toEqual(['roots-no-ca']);
  });
});

describe('a set is refused', () => {
  const other = issueCredential(undefined, { dnsNames: [serverName] });
  test.each<[string, () => ChannelFiles, readonly string[]]>([
    [
      'when its key is of another certificate',
      () => ({ ...channelFilesOf(ca), 'tls.key': other.keyPem }),
      ['credential-key-mismatch'],
    ],
    [
      'when it has expired',
      () => channelFilesOf(ca, { notBefore: hoursAgo(5), notAfter: hoursAgo(1) }),
      ['credential-expired'],
    ],
    [
      'when it is not valid yet',
      () => channelFilesOf(ca, { notBefore: hoursAgo(-1), notAfter: hoursAgo(-2) }),
      ['credential-not-yet-valid'],
    ],
    ['when it is for clients alone', () => channelFilesOf(ca, { purposes: ['client'] }), ['credential-wrong-purpose']],
    ['when it is for another name', () => channelFilesOf(ca, { dnsNames: ['other.test'] }), ['channel-wrong-name']],
    [
      'when it has the name as its common name alone',
      () => channelFilesOf(ca, { dnsNames: [], commonName: serverName }),
      ['channel-wrong-name'],
    ],
    [
      'when its wildcard stands for two labels',
      () => channelFilesOf(ca, { dnsNames: ['*.test'] }),
      ['channel-wrong-name'],
    ],
    [
      'when it is empty',
      () => ({ 'tls.crt': '', 'tls.key': '', 'ca.crt': '' }),
      ['pem-empty', 'credential-key-missing', 'pem-empty'],
    ],
    ['when ca.crt holds a leaf', () => ({ ...channelFilesOf(ca), 'ca.crt': other.certificatePem }), ['roots-no-ca']],
    [
      'when ca.crt holds a key',
      () => ({ ...channelFilesOf(ca), 'ca.crt': caPem(ca) + other.keyPem }),
      ['pem-private-key'],
    ],
    [
      'with everything that is wrong at once',
      () => ({
        ...channelFilesOf(ca, { dnsNames: ['other.test'], notBefore: hoursAgo(5), notAfter: hoursAgo(1) }),
        'ca.crt': 'x',
      }),
      ['credential-expired', 'channel-wrong-name', 'pem-empty'],
    ],
  ])('%s', (_, files, codes) => {
    expect(faultsOf(files())).toEqual(codes);
  });

  test('without a byte of its key in the words', () => {
    const files = { ...channelFilesOf(ca), 'tls.key': 'QUJD' + channelFilesOf(ca)['tls.key'] };
    try {
      examine(files);
      expect.unreachable();
    } catch (thrown) {
      const words = problemsOf(thrown)
        .map(({ message, remedy }) => message + remedy)
        .join('\n');
      const [, line = ''] = files['tls.key'].split('\n');
      expect(words).not.toContain(line.slice(0, 20));
    }
  });
});

describe('what no handshake would hold', () => {
  test('is refused, of the names of CAs and of the certificates that the server shows', () => {
    const most = casThatFill(61_440);
    const files = channelFilesOf(ca, {}, most);
    expect(faultsOf(files)).toEqual([]);
    const chain = files['tls.crt'] + files['ca.crt'];
    const over = { ...channelFilesOf(ca, {}, [...most, ca]), 'tls.crt': chain };
    const [ofChain, ofNames, ...more] = messagesOf({ ...over, 'tls.key': files['tls.key'] });
    expect(ofChain).toMatch(/^\/d\/tls\.crt has \d+ bytes of certificates, and a handshake/);
    expect(ofNames).toMatch(/^\/d\/ca\.crt has \d+ bytes of names of CAs, and a handshake/);
    expect(more).toEqual([]);
  });
});
