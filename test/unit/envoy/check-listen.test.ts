import { createServer, type AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { probeListen } from '../../../src/envoy/check-listen.ts';
import { parseIpAddress } from '../../../src/names/ip-address.ts';
import { freePort } from '../../support/free-port.ts';

function listenAt(text: string, port: number) {
  const address = parseIpAddress(text);
  if (address === undefined) throw new Error(text);
  return { address, port };
}

test('an address that is free passes, and stays free', async () => {
  const listen = listenAt('127.0.0.1', await freePort());
  await probeListen(listen);
  await probeListen(listen);
});

test('an address in use is an error that names it', async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await expect(probeListen(listenAt('127.0.0.1', port))).rejects.toMatchObject({
    code: 'envoy-listen-in-use',
    message: `another process already listens on 127.0.0.1:${port}`,
  });
  await new Promise((resolve) => server.close(resolve));
});

test('an address of another machine is refused with the reason', async () => {
  await expect(probeListen(listenAt('192.0.2.1', 8443))).rejects.toMatchObject({
    code: 'envoy-listen-refused',
    fields: { address: '192.0.2.1:8443', detail: 'this machine has no such address' },
  });
});

test('port 0 becomes a free port, any other stays as it is', async () => {
  const chosen = await probeListen(listenAt('127.0.0.1', 0));
  expect(chosen.port).toBeGreaterThan(0);
  expect(await probeListen(chosen)).toEqual(chosen);
});
