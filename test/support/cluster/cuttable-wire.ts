// A way to an API server whose connections a test can cut all at once, as a load balancer does when it is replaced. Bytes pass
// as they are, so that TLS is between the two ends.
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { once } from 'node:events';

export type CuttableWire = {
  readonly url: string;
  /** every connection that is open now; later ones pass */
  cut(): void;
  close(): Promise<void>;
};

export async function startCuttableWire(url: string): Promise<CuttableWire> {
  const { hostname, port } = new URL(url);
  const open = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(Number(port), hostname);
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(one);
      one.on('error', () => other.destroy()).on('close', () => (open.delete(one), other.destroy()));
      one.pipe(other);
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const cut = (): void => open.forEach((socket) => socket.destroy());
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut,
    close: async () => {
      server.close();
      cut();
      await once(server, 'close');
    },
  };
}
