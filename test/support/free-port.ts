// A TCP port on loopback that nobody listened on a moment ago. For programs that cannot say which port they were given;
// servers of our own listen on port 0 instead.
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';

export async function freePort(address = '127.0.0.1'): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, address, resolve);
  });
  const { port } = server.address() as AddressInfo;
  await new Promise<void>((resolve) => server.close(() => resolve()));
  return port;
}
