// A TLS origin of several hosts that asks for a client certificate, takes any or none, and answers with what it saw: the host,
// the TLS version, and the URI of a certificate that verified.
import { createSecureServer, type Http2SecureServer, type Http2ServerRequest } from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import { createSecureContext, type TLSSocket } from 'node:tls';
import type { TestCredential } from './credential-workshop.ts';

type Presented = { readonly chainPem: string; readonly keyPem: string };

export type AskingOrigin = {
  readonly port: number;
  readonly version: string;
  /** another certificate for a host, from the next handshake on */
  present(host: string, certificate: TestCredential): void;
  certificateOf(host: string): TestCredential;
  /** connections so far */
  accepted(): number;
  dropConnections(): void;
  close(): Promise<void>;
};

/** `clientCaPem` verifies the certificates of clients */
export async function startAskingOrigin(
  certificates: ReadonlyMap<string, Presented>,
  clientCaPem: string,
  version: 'TLSv1.2' | 'TLSv1.3' = 'TLSv1.3',
): Promise<AskingOrigin> {
  const own = new Map(certificates);
  const open = new Set<Socket>();
  let accepted = 0;
  const server: Http2SecureServer = createSecureServer({
    ...{ allowHTTP1: true, requestCert: true, rejectUnauthorized: false, ca: clientCaPem },
    ...{ minVersion: version, maxVersion: version },
    SNICallback: (name, done) => {
      const presented = own.get(name);
      if (presented === undefined) done(new Error(`no host ${name}`));
      else done(null, createSecureContext({ cert: presented.chainPem, key: presented.keyPem, ca: clientCaPem }));
    },
  });
  server.on('connection', (socket: Socket) => {
    accepted += 1;
    open.add(socket);
  });
  server.on('request', (request: Http2ServerRequest, response) => {
    const socket = (request.httpVersion === '2.0' ? request.stream.session?.socket : request.socket) as TLSSocket;
    const { subjectaltname: names } = socket.getPeerCertificate();
    const seen = names === undefined ? 'no certificate' : socket.authorized ? names.replace('URI:', '') : 'a stranger';
    const host = (request.authority || request.headers.host || '').replace(/:\d+$/, '');
    response.end(`${host} over ${socket.getProtocol() ?? ''} sees ${seen}`);
  });
  server.on('sessionError', () => undefined).on('error', () => undefined);
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const dropConnections = (): void => {
    for (const socket of open) socket.destroy();
    open.clear();
  };
  return {
    port: (server.address() as AddressInfo).port,
    version,
    present: (host, { certificatePem: chainPem, keyPem }) => {
      own.set(host, { chainPem, keyPem });
      dropConnections();
    },
    certificateOf: (host) => {
      const { chainPem: certificatePem = '', keyPem = '' } = own.get(host) ?? {};
      return { certificatePem, keyPem };
    },
    accepted: () => accepted,
    dropConnections,
    close: () => {
      dropConnections();
      return new Promise((done) => server.close(() => done()));
    },
  };
}
