// Every client of the matrix behind a gateway, started from an empty environment with what `leafgate run` sets: those that
// variables reach must get an origin's word by a leaf of the gateway's, by the whole table and by the few variables that are
// said to be enough, must refuse that leaf without the trust, and must go around the gateway without the proxy. Those that no
// variable reaches must still be out of reach, so that a change is noticed.
import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { allClients } from '../support/clients/all-clients.ts';
import { browserClients, type BrowserClient } from '../support/clients/browser-clients.ts';
import { startClientWorld, type ClientResult, type ClientWorld } from '../support/clients/client-world.ts';
import { clientsPage } from '../support/clients/clients-page.ts';
import { originMark, type Client } from '../support/clients/client.ts';
import { shelfTools } from '../support/clients/shelf.ts';
import { chosenVariables, proxyVariables, trustVariables } from '../support/clients/split-variables.ts';
import { describeWithTools } from '../support/describe-with-tools.ts';
import type { ChildEnvironment } from '../support/scrubbed-environment.ts';
import { findTool, type ToolName } from '../support/tools.ts';

/** of a test that starts one client or two */
const deadline = { timeout: 200_000 };

describeWithTools('clients', ['envoy-1.40.0', 'curl', ...shelfTools], () => {
  let world: ClientWorld;
  beforeAll(async () => {
    world = await startClientWorld(toolPath);
  }, 180_000);
  afterAll(() => world.close());

  for (const client of allClients) {
    describeWithTools(client.name, client.tools, () => {
      if (client.reach.kind === 'variables') reachedTests(client, client.reach);
      else unreachedTests(client, client.reach.lacks);
    });
  }

  for (const browser of browserClients) {
    describeWithTools(browser.name, ['certutil', browser.tool], () => browserTests(browser));
  }

  let hasFailed = false;
  afterEach(({ task }) => {
    hasFailed ||= task.result?.state === 'fail';
  });

  // `npm run clients`; otherwise no test at all, since one that is skipped is said to be missing
  if (process.env['LEAFGATE_TEST_CLIENTS_PAGE'] === '1') {
    test('the page is written anew', deadline, async () => {
      expect(hasFailed, 'whether a row did not hold').toBe(false);
      writeFileSync(new URL('../../docs/clients.md', import.meta.url), await pageOfToday());
    });
  }

  async function pageOfToday(): Promise<string> {
    const versions = new Map<string, string>();
    for (const each of [...allClients, ...browserClients]) versions.set(each.name, await world.version(each));
    const [, system = 'Linux'] = /^PRETTY_NAME="(.*)"$/m.exec(readFileSync('/etc/os-release', 'utf8')) ?? [];
    const date = new Date().toISOString().slice(0, 10);
    return clientsPage({ date, system, versionOf: (name) => versions.get(name) ?? 'unknown' });
  }

  function browserTests(browser: BrowserClient): void {
    const named = (): ChildEnvironment => chosenVariables(world.variables, browser.proxy);
    test(`needs no more than its own store and ${browser.proxy.join(', ')}`, deadline, async () => {
      const run = await world.byBrowser(browser, { by: 'name', variables: named(), trusts: true });
      expect(run).toMatchObject({ error: undefined, text: expect.stringContaining(originMark) });
      expect(await world.recordOf(run)).toMatchObject({ decision: 'intercept', status: 200 });
    });

    test('is made to trust the gateway by no variable', deadline, async () => {
      const before = world.origin.seen.requests;
      const { error } = await world.byBrowser(browser, { by: 'name', variables: world.variables, trusts: false });
      expect(error).toMatch(browser.distrust);
      expect(world.origin.seen.requests).toBe(before);
    });

    test('without the proxy goes around the gateway', deadline, async () => {
      const { connections, requests } = { ...world.origin.seen };
      const variables = trustVariables(world.variables);
      const { error } = await world.byBrowser(browser, { by: 'address', variables, trusts: true });
      expect(error).toMatch(browser.distrust);
      expect(world.origin.seen.requests).toBe(requests);
      expect(world.origin.seen.connections).toBeGreaterThan(connections);
      expect(await world.recordsByAddress()).toEqual([]);
    });
  }

  function reachedTests(
    client: Client,
    { proxy, trust }: { proxy: readonly string[]; trust: readonly string[] },
  ): void {
    const enough = [...new Set([...proxy, ...trust])];

    test('gets through by a leaf of the gateway', deadline, async () => {
      await expectThrough(await world.throughName(client, world.variables));
    });

    test(`needs no more than ${enough.join(', ')}`, deadline, async () => {
      await expectThrough(await world.throughName(client, chosenVariables(world.variables, enough)));
    });

    test('without the trust refuses that leaf', deadline, async () => {
      const before = world.origin.seen.requests;
      expectDistrust(client, await world.throughName(client, proxyVariables(world.variables)));
      expect(world.origin.seen.requests).toBe(before);
    });

    test('without the proxy goes around the gateway', deadline, async () => {
      await expectAround(client, trustVariables(world.variables));
    });
  }

  function unreachedTests(client: Client, lacks: 'proxy' | 'trust'): void {
    if (lacks === 'proxy') {
      test('is sent through the gateway by no variable', deadline, async () => {
        await expectAround(client, world.variables);
      });
    } else {
      test('is made to trust the gateway by no variable', deadline, async () => {
        const before = world.origin.seen.requests;
        expectDistrust(client, await world.throughName(client, world.variables));
        expect(world.origin.seen.requests).toBe(before);
      });
    }
  }

  async function expectThrough(run: ClientResult): Promise<void> {
    const { status, stdout, stderr } = run;
    expect({ status, stdout, stderr }).toMatchObject({ status: 0, stdout: expect.stringContaining(originMark) });
    const record = await world.recordOf(run, (one) => one.status === 200);
    expect(record).toMatchObject({ decision: 'intercept', outcome: 'ok' });
    expect(record.leafSerial).toMatch(/^[0-9a-f]{32}$/);
  }

  /** the origin was asked at its own address, whose certificate the client does not know, and the gateway saw nothing */
  async function expectAround(client: Client, variables: Readonly<Record<string, string>>): Promise<void> {
    const { connections, requests } = { ...world.origin.seen };
    const run = await world.byAddress(client, variables);
    expect(run.status).not.toBe(0);
    expect(world.origin.seen.connections).toBeGreaterThan(connections);
    expect(world.origin.seen.requests).toBe(requests);
    expect(await world.recordsByAddress()).toEqual([]);
  }

  function expectDistrust({ distrust }: Client, { status, stdout, stderr }: ClientResult): void {
    expect(status).not.toBe(0);
    expect(`${stdout}${stderr}`).toMatch(distrust);
  }
});

function toolPath(name: ToolName): string {
  const found = findTool(name);
  if (found.path === undefined) throw new Error(found.missing);
  return found.path;
}
