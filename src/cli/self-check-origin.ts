// The built-in origin of the self-check: a TLS server on a unix socket whose CA lives only as long as this process and
// is trusted by one Envoy cluster alone, so that a self-check needs no network and proves the whole chain.
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:https';
import type { Clock } from '../clock.ts';
import { days, minus, minutes, plus } from '../clock.ts';
import type { HostName } from '../names/name-types.ts';
import { createCa } from '../x509/create-ca.ts';
import { createLeafKey } from '../x509/leaf-key.ts';
import { createLeafTemplate, encodeLeaf } from '../x509/leaf-template.ts';
import { listenPrivately } from '../private-socket.ts';
import { replaceFile } from '../replace-file.ts';
import { encodeCertificatesPem, encodePem } from '../x509/pem.ts';
import { createSerial } from '../x509/serial.ts';
import { signLeafSync } from '../x509/sign-leaf.ts';
import { privateKeyFromPkcs8 } from '../x509/private-key.ts';

export type SelfCheckOrigin = { readonly close: () => Promise<void> };

type SelfCheckOriginOptions = {
  readonly host: HostName;
  readonly socketPath: string;
  readonly caFile: string;
  readonly clock: Clock;
};

/** longer than a gateway runs without a restart; nothing but its own cluster ever sees this certificate */
const lifetime = days(365);

export async function startSelfCheckOrigin(options: SelfCheckOriginOptions): Promise<SelfCheckOrigin> {
  const { certificatePem, keyPem, caPem } = issueOwnCertificate(options.host, options.clock);
  await replaceFile(options.caFile, caPem, 0o600);
  const server = createServer(
    { cert: certificatePem, key: Buffer.from(keyPem), minVersion: 'TLSv1.3' },
    (_, response) => {
      response.writeHead(200, { 'content-type': 'text/plain' }).end('leafgate self-check\n');
    },
  );
  await listenPrivately(server, options.socketPath);
  return {
    close: () =>
      new Promise((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
}

function issueOwnCertificate(
  host: HostName,
  clock: Clock,
): { certificatePem: string; keyPem: Uint8Array; caPem: string } {
  const now = clock.now();
  const random = (count: number): Uint8Array => randomBytes(count);
  const ca = createCa({ now, lifetimeMs: lifetime, randomBytes: random });
  const key = createLeafKey(now);
  const signer = {
    certificate: ca.certificate,
    key: privateKeyFromPkcs8(ca.privateKeyPkcs8),
    chain: [],
    notAfter: ca.certificate.notAfter,
  };
  const draft = encodeLeaf(createLeafTemplate(signer, key), {
    name: { kind: 'dns', host },
    serial: createSerial(random),
    notBefore: minus(now, minutes(5)),
    notAfter: minus(plus(now, lifetime), minutes(5)),
  });
  return {
    certificatePem: encodePem('CERTIFICATE', signLeafSync(draft)),
    keyPem: key.privateKeyPem.reveal(),
    caPem: encodeCertificatesPem([ca.certificate]),
  };
}
