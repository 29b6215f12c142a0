// `--client-rate` for clients that the system redirects: each is counted by its own address, in clear and in TLS.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeWithMachine } from '../support/describe-with-tools.ts';
import { runLeafgate, startGatewayUnderTest, type GatewayUnderTest } from '../support/gateway-under-test.ts';
import {
  addresses,
  clientLink,
  startNetworkWorld,
  whyNoNetworkWorld,
  type NetworkWorld,
} from '../support/network-world.ts';
import type { CommandResult } from '../support/run-command.ts';
import { createTempFolder } from '../support/temp-folder.ts';

const port = '15001';
const [originV4] = addresses.origin;
/** the burst is never less than 20 */
const burst = 20;
const needs = {
  tools: ['envoy-1.40.0', 'curl', 'ip', 'nft', 'nsenter'],
  whyNot: whyNoNetworkWorld,
} as const;

describeWithMachine('the rate of a redirected client', needs, ({ 'envoy-1.40.0': envoy, curl, nft }) => {
  const temp = createTempFolder();
  let world: NetworkWorld;
  let gateway: GatewayUnderTest;

  beforeAll(async () => {
    world = await startNetworkWorld();
    gateway = await startGatewayUnderTest({
      ...{ envoy, temp, through: world.at('gateway') },
      args: [
        ...['--transparent', port, '--allow-from', '10.77.0.0/24', '--allow-from', '10.78.0.0/24'],
        ...['--client-rate', '1', '--deny', 'a.test', '--allow', '*.b.test'],
      ],
    });
    const rules = ['transparent', 'rules', '--interface', clientLink, '--port', port, '--ports', 'all'];
    const { stdout } = await runLeafgate(rules, { envoy, temp });
    expect(await world.run('gateway', [nft, '-f', '-'], { input: stdout })).toMatchObject({ status: 0 });
  });
  afterAll(async () => {
    await gateway.stop();
    await world.stop();
    temp.remove();
  });

  const fromClient = (...args: readonly string[]): Promise<CommandResult> =>
    world.run('client', [curl, '-sS', '-m', '10', ...args], { deadlineMs: 30_000 });
  /** clear requests one after the other */
  const statuses = async (count: number, address: string): Promise<readonly string[]> => {
    const to = ['--resolve', `a.test:80:${originV4}`, '-o', '/dev/null', '-w', '%{http_code} '];
    const { stdout } = await fromClient(...to, '--interface', address, `http://a.test/[1-${count}]`);
    return stdout.trim().split(' ');
  };

  test('ends its allowance in clear with 429, and that of another client is whole', async () => {
    const [client] = addresses.client;
    const seen = await statuses(burst + 20, client);
    expect(seen.slice(0, burst)).toEqual(Array.from({ length: burst }, () => '403'));
    expect(seen).toContain('429');
    expect(await statuses(burst, addresses.stranger)).toEqual(Array.from({ length: burst }, () => '403'));
    const record = await gateway.recordOf('a request too many', ({ reason }) => reason?.code === 'rate-limited');
    expect(record).toMatchObject({ host: 'a.test', status: 429, outcome: 'refused' });
  });

  test('ends it in TLS with a reset, and the record says why', async () => {
    const [client] = addresses.client;
    // counted for itself
    const urls = Array.from({ length: burst + 10 }, () => 'https://name.b.test/');
    const to = [
      '--resolve',
      `name.b.test:443:${originV4}`,
      '--interface',
      client,
      '-k',
      '--http1.1',
      '-H',
      'connection: close',
    ];
    await fromClient(...to, ...urls.flatMap((url) => ['-o', '/dev/null', url]));
    const fits = ({ host, reason }: { host?: string; reason?: { code: string } }): boolean =>
      host === 'name.b.test' && reason?.code === 'rate-limited';
    expect(await gateway.recordOf('a handshake too many', fits)).toMatchObject({ kind: 'connect', outcome: 'refused' });
  });
});
