// Names with an address that this machine has no way to, in a network namespace without a default route: the other address is
// used, whichever comes first, and of either family.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { writeFileSync } from 'node:fs';
import { caPem, issueCredential, makeCurrentCa } from '../support/credential-workshop.ts';
import { describeWithMachine } from '../support/describe-with-tools.ts';
import { startGatewayUnderTest, type GatewayUnderTest } from '../support/gateway-under-test.ts';
import { addresses, startNetworkWorld, whyNoNetworkWorld, type NetworkWorld } from '../support/network-world.ts';
import { startProcess, type StartedProcess } from '../support/run-command.ts';
import { scrubbedEnvironment } from '../support/scrubbed-environment.ts';
import { createTempFolder } from '../support/temp-folder.ts';

const [originV4, originV6] = addresses.origin;
/** public, and in no network of the namespace */
const [nowhereV4, nowhereV6] = ['203.0.113.5', '2001:db8:9::5'];
const names = {
  'four-first.test': [nowhereV4, originV4],
  'four-last.test': [originV4, nowhereV4],
  'six-nowhere.test': [nowhereV6, originV4],
  'four-nowhere.test': [nowhereV4, originV6],
  'nowhere.test': [nowhereV4, nowhereV6],
} as const;
const needs = { tools: ['envoy-1.40.0', 'curl', 'ip', 'nft', 'nsenter'], whyNot: whyNoNetworkWorld } as const;

describeWithMachine('an address without a route', needs, ({ 'envoy-1.40.0': envoy, curl }) => {
  const temp = createTempFolder();
  const originCa = makeCurrentCa('origins');
  const started: StartedProcess[] = [];
  let world: NetworkWorld;
  let gateway: GatewayUnderTest;

  const startAt = async (
    place: 'gateway' | 'origin',
    script: URL,
    ...args: readonly string[]
  ): Promise<StartedProcess> => {
    const [program = '', ...words] = [...world.at(place), process.execPath, script.pathname, ...args];
    const child = startProcess(program, words, { env: scrubbedEnvironment(temp.path) });
    started.push(child);
    return child;
  };

  beforeAll(async () => {
    world = await startNetworkWorld();
    const made = issueCredential(originCa, { dnsNames: Object.keys(names), purposes: ['server'] });
    writeFileSync(temp.file('origin.crt'), made.certificatePem);
    writeFileSync(temp.file('origin.key'), made.keyPem);
    writeFileSync(temp.file('origin-ca.pem'), caPem(originCa));
    const files = [temp.file('origin.crt'), temp.file('origin.key')];
    await (
      await startAt('origin', new URL('../support/network-origin.ts', import.meta.url), ...files, originV4, originV6)
    ).waitForOutput(/ready/);
    const dns = await startAt('gateway', new URL('../support/network-dns.ts', import.meta.url), JSON.stringify(names));
    const [, port = ''] = await dns.waitForOutput(/listens on (\d+)/);
    gateway = await startGatewayUnderTest({
      ...{ envoy, temp, through: world.at('gateway') },
      args: ['--dns', `127.0.0.1:${port}`, '--origin-ca', temp.file('origin-ca.pem')],
    });
  });
  afterAll(async () => {
    await gateway.stop();
    for (const child of started) await child.stop();
    await world.stop();
    temp.remove();
  });

  const get = async (name: string): Promise<string> => {
    const args = ['-sS', '-m', '15', '-x', gateway.proxyUrl, '--cacert', gateway.caFile, `https://${name}/`];
    return (await world.run('gateway', [curl, ...args], { deadlineMs: 20_000 })).stdout;
  };

  test.each(['four-first.test', 'four-last.test', 'six-nowhere.test', 'four-nowhere.test'])(
    '%s is reached by its other address',
    async (name) => {
      expect(await get(name)).toMatch(`secure ${name}`);
      const record = await gateway.recordOf(name, ({ host, status }) => host === name && status === 200);
      const upstream = name === 'four-nowhere.test' ? `[${originV6}]:443` : `${originV4}:443`;
      expect(record).toMatchObject({ upstream });
    },
  );

  test('is told where there is no other', async () => {
    expect(JSON.parse(await get('nowhere.test'))).toMatchObject({ error: 'origin_failed', cause: 'refused' });
  });
});
