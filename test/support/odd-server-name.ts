// A ClientHello whose server name is any bytes: no TLS library sends one that is not text, but a hostile client does.
import { connect as connectTcp, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { connect as connectTls } from 'node:tls';

/** How long the server kept the connection open after the ClientHello, in milliseconds. */
export async function knockWithServerName(port: number, serverName: Uint8Array): Promise<number> {
  return knockOn(connectTcp(port, '127.0.0.1'), serverName);
}

/** The same over a connection that is open already, such as a tunnel. */
export function knockOn(socket: Socket, serverName: Uint8Array): Promise<number> {
  const startedAt = performance.now();
  socket.on('error', () => undefined);
  // long enough that no other byte of a ClientHello repeats it, and a name for Node
  const placeholder = `${'q'.repeat(serverName.length - '.test'.length)}.test`;
  let isFirst = true;
  const rewriting = new Duplex({
    read: () => undefined,
    write(chunk: Buffer, _encoding, done) {
      const bytes = Buffer.from(chunk);
      if (isFirst) bytes.set(serverName, bytes.indexOf(placeholder));
      isFirst = false;
      socket.write(bytes, () => done());
    },
  });
  socket.on('data', (data) => rewriting.push(data));
  socket.on('end', () => rewriting.push(null));
  const tls = connectTls({ socket: rewriting, servername: placeholder, rejectUnauthorized: false });
  tls.on('error', () => undefined);
  return new Promise((resolve) => {
    socket.once('close', () => {
      tls.destroy();
      resolve(performance.now() - startedAt);
    });
  });
}
