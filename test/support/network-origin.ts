// An origin for another network namespace, run as a process of its own: HTTPS on 443, HTTP on 80, a server that speaks
// first on 22, and HTTPS that tells the serial number of the certificate that it was shown on 8443. A path `/for/N` gives a line at once and the rest after N milliseconds. Arguments: the certificate's file, the key's file, and the addresses to listen on.
import { readFileSync } from 'node:fs';
import { createServer as createHttp } from 'node:http';
import { createSecureServer } from 'node:http2';
import { createServer as createTls } from 'node:https';
import { createServer as createTcp, type Server } from 'node:net';
import { TLSSocket } from 'node:tls';

const [certificateFile = '', keyFile = '', ...addresses] = process.argv.slice(2);
const cert = readFileSync(certificateFile);
const key = readFileSync(keyFile);

for (const host of addresses) {
  const secure = createSecureServer({ cert, key, allowHTTP1: true }, (request, response) => {
    const text = `secure ${request.authority || request.headers.host || ''} from ${request.socket.remoteAddress ?? ''}`;
    const [, wait] = /^\/for\/(\d+)$/.exec(request.url) ?? [];
    if (wait === undefined) return void response.end(text);
    response.write('begun\n');
    setTimeout(() => response.end(text), Number(wait));
  });
  const asking = createTls({ cert, key, requestCert: true, rejectUnauthorized: false }, (request, response) => {
    const { socket } = request;
    // the next request shall show it again
    response.setHeader('connection', 'close');
    response.end(`shown ${socket instanceof TLSSocket ? socket.getPeerCertificate().serialNumber : ''}`);
  });
  const clear = createHttp((request, response) => response.end(`clear ${request.headers.host ?? ''}`));
  const first = createTcp((socket) => socket.on('error', () => undefined).write('SSH-2.0-origin\r\n'));
  await Promise.all([
    listening(secure, 443, host),
    listening(clear, 80, host),
    listening(first, 22, host),
    listening(asking, 8443, host),
  ]);
}
process.stdout.write('ready\n');

function listening(server: Server, port: number, host: string): Promise<void> {
  return new Promise((done, failed) => {
    server.once('error', failed).listen({ port, host }, () => done());
  });
}
