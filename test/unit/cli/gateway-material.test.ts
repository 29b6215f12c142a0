// The certificates of others that a gateway works with: all faults of all files at once, by the flag that named them.
import { writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openMaterial, originCasIn } from '../../../src/cli/gateway-material.ts';
import { LeafgateError } from '../../../src/errors.ts';
import { systemClock } from '../../../src/clock.ts';
import { encodeCertificatesPem } from '../../../src/x509/pem.ts';
import { makeCa } from '../../support/ca-workshop.ts';
import { caPem, hoursAgo, issueCredential, makeCurrentCa } from '../../support/credential-workshop.ts';
import { gatewaySpec } from '../../support/gateway-spec.ts';
import { createTempFolder, type TempFolder } from '../../support/temp-folder.ts';

describe('the certificates of others', () => {
  let temp: TempFolder;
  beforeEach(() => (temp = createTempFolder()));
  afterEach(() => temp.remove());
  const ca = makeCurrentCa('test');
  const [one, other] = [makeCa().certificate, makeCa().certificate];
  const open = (originCaFiles: readonly string[], clientCaFile?: string): ReturnType<typeof openMaterial> => {
    const front = { listen: undefined, certificateDir: temp.path, clientCaFile };
    const spec = gatewaySpec(clientCaFile === undefined ? {} : { front });
    return openMaterial({ spec, originCaFiles, clock: systemClock, pool: () => undefined });
  };
  const faultsOf = async (opening: Promise<unknown>): Promise<readonly string[]> => {
    const error = LeafgateError.from(await opening.catch((thrown: unknown) => thrown));
    return (error.problems.length > 0 ? error.problems : [error]).map(({ message }) => message);
  };

  test('of --origin-ca may stand in files as distributions write them, with text between the certificates', async () => {
    const text = `Corp\n${encodeCertificatesPem([one])}\nOther\n${encodeCertificatesPem([other])}`;
    writeFileSync(temp.file('ca.pem'), text);
    const material = await open([temp.file('ca.pem')]);
    expect(originCasIn(material).map(({ sha256 }) => sha256)).toEqual([one.sha256, other.sha256]);
  });

  test('are told apart by the flag that named them, in words, all at once', async () => {
    const pair = issueCredential(ca, { purposes: ['client'], notAfter: hoursAgo(0.01) });
    writeFileSync(temp.file('tls.crt'), pair.certificatePem);
    writeFileSync(temp.file('tls.key'), issueCredential(ca, {}).keyPem);
    writeFileSync(temp.file('key.pem'), 'Corp\n-----BEGIN PRIVATE KEY-----\nMIGH\n-----END PRIVATE KEY-----\n');
    writeFileSync(temp.file('clients.pem'), pair.certificatePem);
    const faults = await faultsOf(
      open(
        ['none', '.', 'key.pem'].map((name) => temp.file(name)),
        temp.file('clients.pem'),
      ),
    );
    expect(faults).toEqual([
      expect.stringMatching(/^--proxy-cert .*tls\.crt has a certificate that expired at 20/),
      expect.stringMatching(/^--proxy-cert .*tls\.crt has a certificate that is not for serverAuth$/),
      expect.stringMatching(
        /^--proxy-cert .*tls\.key is not the key of the first certificate in --proxy-cert .*tls\.crt$/,
      ),
      expect.stringMatching(/^--client-ca .* has no CA certificate that is valid now$/),
      `--origin-ca ${temp.file('none')} cannot be read: no such file or folder`,
      `--origin-ca ${temp.file('.')} cannot be read: it is a folder`,
      `--origin-ca ${temp.file('key.pem')}, line 2: a private key among certificates`,
    ]);
  });

  test('are what Envoy should hold: the bytes of the certificate, or of the roots', async () => {
    const pair = issueCredential(ca, { purposes: ['server'] });
    writeFileSync(temp.file('tls.crt'), pair.certificatePem);
    writeFileSync(temp.file('tls.key'), pair.keyPem);
    writeFileSync(temp.file('clients.pem'), caPem(ca));
    const material = await open([], temp.file('clients.pem'));
    expect(material.map(({ item, files }) => [item.secret, Buffer.from(files.current().text).toString()])).toEqual([
      ['front_certificate', pair.certificatePem],
      ['client_roots', caPem(ca)],
    ]);
  });
});
