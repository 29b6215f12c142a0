// A gateway, an origin that only it can reach by name and verify, and clients that are started from an empty environment
// with what `leafgate run` sets, or a chosen part of it.
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import type { AccessRecord } from '../../../src/observe/access-record.ts';
import { curlThrough, runLeafgate, startGatewayUnderTest, type GatewayUnderTest } from '../gateway-under-test.ts';
import { startNxdomainServer } from '../nxdomain-server.ts';
import { runCommand, type CommandResult } from '../run-command.ts';
import { scrubbedEnvironment, type ChildEnvironment } from '../scrubbed-environment.ts';
import { createTempFolder } from '../temp-folder.ts';
import { createTestAuthority, issueServerCertificate } from '../test-certificates.ts';
import { startTlsOrigin, type TlsOrigin } from '../tls-origin.ts';
import type { ToolName } from '../tools.ts';
import type { BrowserClient } from './browser-clients.ts';
import type { Client, ClientRun } from './client.ts';
import { answerFromShelf, stockShelf } from './shelf.ts';

export type ClientWorld = {
  readonly origin: TlsOrigin;
  /** what `leafgate run` sets for a command */
  readonly variables: ChildEnvironment;
  /** by the origin's name, which only the gateway resolves; `variables` are all it gets beside PATH, HOME and its settings */
  throughName(client: Client, variables: ChildEnvironment): Promise<ClientResult>;
  /** by the origin's address, which a client reaches without a proxy too */
  byAddress(client: Client, variables: ChildEnvironment): Promise<ClientResult>;
  /** a page on the origin, by its name or its address; `trusts`: the CA is in the browser's own store */
  byBrowser(client: BrowserClient, how: BrowserRun): Promise<PageResult>;
  version(client: Pick<Client, 'version'>): Promise<string>;
  /** waits for a record of a run that fits */
  recordOf(run: Pick<ClientResult, 'prefix'>, fits?: (record: AccessRecord) => boolean): Promise<AccessRecord>;
  /** every record so far of what was asked by address; none is still to come */
  recordsByAddress(): Promise<readonly AccessRecord[]>;
  close(): Promise<void>;
};

export type ClientResult = CommandResult & {
  /** its requests' paths begin with this */
  readonly prefix: string;
};

type BrowserRun = {
  readonly by: 'name' | 'address';
  readonly variables: ChildEnvironment;
  readonly trusts: boolean;
};

type PageResult = Pick<ClientResult, 'prefix'> & {
  /** what the browser says instead of the page */
  readonly error: string | undefined;
  readonly text: string;
};

const originName = 'origin.clients.test';
/** no client takes it for its own machine but those that know all of 127.0.0.0/8: NO_PROXY names 127.0.0.1 alone */
const originAddress = '127.0.0.2';

/** above what a JVM or a package manager takes on a busy machine */
const clientDeadlineMs = 90_000;

export async function startClientWorld(tool: (name: ToolName) => string): Promise<ClientWorld> {
  const temp = createTempFolder();
  const authority = createTestAuthority();
  writeFileSync(temp.file('origin-ca.pem'), authority.pem);
  const root = temp.file('shelf');
  mkdirSync(root);
  await stockShelf({ root, work: temp.file('work'), tool });
  const origin = await startTlsOrigin({
    address: originAddress,
    certificate: issueServerCertificate(authority, { names: [originName] }),
    answer: (request, response) => answerFromShelf(root, request, response),
  });
  // nothing that anybody asks the gateway for is looked up elsewhere: browsers have errands of their own
  const dns = await startNxdomainServer();
  const envoy = tool('envoy-1.40.0');
  const gateway = await startGatewayUnderTest({
    ...{ envoy, temp },
    args: [
      ...['--origin-ca', temp.file('origin-ca.pem'), '--allow-destination', '127.0.0.0/8'],
      ...['--dns', `127.0.0.1:${dns.port}`],
      ...['--resolve', `${originName}:${origin.port}:${originAddress}`],
    ],
  });
  let runs = 0;
  const newRun = (host: string, name: string): ClientRun & { readonly prefix: string } => {
    runs += 1;
    const prefix = `/${runs}/${name.replaceAll(/[^A-Za-z0-9]+/g, '-')}/`;
    const base = `https://${host}:${origin.port}${prefix.slice(0, -1)}`;
    return { home: mkdtempSync(temp.file('home-')), base, prefix, tool };
  };
  const start = async (host: string, client: Client, variables: ChildEnvironment): Promise<ClientResult> => {
    const run = newRun(host, client.name);
    await client.prepare?.(run);
    const [command = '', ...args] = client.words(run);
    const env = scrubbedEnvironment(run.home, { ...client.settings?.(run), ...variables });
    const result = await runCommand(command, args, { env, cwd: run.home, deadlineMs: clientDeadlineMs });
    return { ...result, prefix: run.prefix };
  };

  return {
    origin,
    variables: await variablesOfRun(gateway, { envoy, temp }),
    throughName: (client, variables) => start(originName, client, variables),
    byAddress: (client, variables) => start(originAddress, client, variables),
    byBrowser: async (client, { by, variables: env, trusts }) => {
      const { home, base, prefix } = newRun(by === 'name' ? originName : originAddress, client.name);
      const caFile = trusts ? gateway.caFile : undefined;
      const place = { path: tool(client.tool), certutil: tool('certutil'), home, env };
      const browser = await client.start({ ...place, proxyPort: undefined, caFile });
      try {
        const error = await browser.goTo(`${base}/mark`);
        const text = error === undefined ? await browser.evaluate('document.body.textContent') : '';
        return { prefix, error, text: String(text) };
      } finally {
        await browser.close();
      }
    },
    version: async (client) => {
      const [command = '', ...args] = client.version(tool);
      const { stdout, stderr } = await runCommand(command, args, { env: scrubbedEnvironment(temp.path) });
      return /\d+(\.\d+)+/.exec(stdout + stderr)?.[0] ?? 'unknown';
    },
    recordOf: (run, fits = () => true) =>
      gateway.recordOf(run.prefix, (record) => (record.path ?? '').startsWith(run.prefix) && fits(record)),
    recordsByAddress: async () => {
      const { base, prefix } = newRun(originName, 'last');
      await curlThrough({ curl: tool('curl'), temp, gateway }, `${base}/mark`);
      // records come in the order of what they tell
      await gateway.recordOf('the last request', ({ path }) => path === `${prefix}mark`);
      return gateway.records().filter(({ host }) => host === originAddress);
    },
    close: async () => {
      await gateway.stop();
      await origin.close();
      await dns.close();
      temp.remove();
    },
  };
}

type RunOptions = Parameters<typeof runLeafgate>[1];

/** as a command sees them; PATH, HOME and what the test itself gave are not among them */
async function variablesOfRun(gateway: GatewayUnderTest, options: RunOptions): Promise<ChildEnvironment> {
  const print = ['-e', 'process.stdout.write(JSON.stringify(process.env))'];
  const words = ['run', '--state', gateway.state, '--', process.execPath, ...print];
  const { stdout, stderr, status } = await runLeafgate(words, options);
  if (status !== 0) throw new Error(`leafgate run: ${stderr}`);
  const given = new Set(['PATH', 'HOME', 'LEAFGATE_ENVOY']);
  const all = Object.entries(JSON.parse(stdout) as ChildEnvironment);
  return Object.fromEntries(all.filter(([name]) => !given.has(name)));
}
