// A DNS server on loopback to which no name exists: lookups end at once, and nothing a test asks leaves the machine.
import { createSocket } from 'node:dgram';

export type NxdomainServer = { readonly port: number; close(): Promise<void> };

const responseWithRecursion = 0x81;
const recursionAvailableNoName = 0x83;

export async function startNxdomainServer(): Promise<NxdomainServer> {
  const socket = createSocket('udp4');
  socket.on('message', (query, peer) => {
    const answer = Buffer.from(query);
    // RFC 1035 4.1.1: QR and RD in the third octet, RA and RCODE 3 in the fourth
    answer.writeUInt8(responseWithRecursion, 2);
    answer.writeUInt8(recursionAvailableNoName, 3);
    socket.send(answer, peer.port, peer.address);
  });
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  return { port: socket.address().port, close: () => new Promise((resolve) => socket.close(() => resolve())) };
}
