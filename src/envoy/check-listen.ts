// Whether an address is free to listen on. Envoy itself would not tell: its listeners share a port with any other Envoy
// of the same user (SO_REUSEPORT), and the two would take turns in answering.
import { createServer } from 'node:net';
import type { ListenAddress } from '../settings/gateway-spec.ts';
import { systemCode, systemReason } from '../system-error.ts';
import { envoyErrors } from './envoy-errors.ts';

/**
 * Binds the address for a moment, without sharing; port 0 becomes a free one. Rejects with `envoy-listen-in-use` or
 * `envoy-listen-refused`.
 */
export function probeListen(listen: ListenAddress): Promise<ListenAddress> {
  const host = listen.address.text;
  const address = host.includes(':') ? `[${host}]:${listen.port}` : `${host}:${listen.port}`;
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', (error: Error) => {
      const code = systemCode(error) === 'EADDRINUSE' ? 'envoy-listen-in-use' : 'envoy-listen-refused';
      reject(envoyErrors.error(code, { address, detail: systemReason(error) }, error));
    });
    server.listen({ host, port: listen.port, exclusive: true }, () => {
      const bound = server.address();
      const port = typeof bound === 'object' && bound !== null ? bound.port : listen.port;
      server.close(() => resolve({ address: listen.address, port }));
    });
  });
}
