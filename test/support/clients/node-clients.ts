// Node 20, 24 and 26, each by fetch, by node:https and by undici's agent for proxies from the environment.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { runtimePackage, type ToolName } from '../tools.ts';
import type { Client, Reach } from './client.ts';

const distrust =
  /UNABLE_TO_GET_ISSUER_CERT_LOCALLY|UNABLE_TO_VERIFY_LEAF_SIGNATURE|unable to (get local issuer|verify the first)/;

const fetchCode = `process.stdout.write(await (await fetch(process.argv[1])).text())`;
const httpsCode = `import { get } from 'node:https';
get(process.argv[1], (answer) => answer.pipe(process.stdout)).on('error', (error) => { throw error; });`;
const undiciCode = `const { EnvHttpProxyAgent, fetch } = (await import(process.argv[2])).default;
process.stdout.write(await (await fetch(process.argv[1], { dispatcher: new EnvHttpProxyAgent() })).text());`;

/** 20 is the last that cannot be told to use a proxy */
const nodes = [
  { major: 20, tool: 'node-20', undici: 'undici-7', readsProxy: false },
  { major: 24, tool: 'node-24', undici: 'undici-8', readsProxy: true },
  { major: 26, tool: 'node-26', undici: 'undici-8', readsProxy: true },
] as const satisfies readonly { major: number; tool: ToolName; undici: string; readsProxy: boolean }[];

const trust = ['NODE_EXTRA_CA_CERTS'];
const byNode: Reach = { kind: 'variables', proxy: ['HTTPS_PROXY', 'NODE_USE_ENV_PROXY'], trust };
const byUndici: Reach = { kind: 'variables', proxy: ['HTTPS_PROXY'], trust };
const unreached: Reach = {
  ...{ kind: 'unreached', lacks: 'proxy' },
  remedy:
    'Node 24, or EnvHttpProxyAgent of undici as global dispatcher, in a module that NODE_OPTIONS=--import loads first',
};

const undici = (version: string): string => pathToFileURL(`${runtimePackage(version)}/index.js`).href;
const preloadName = 'use-proxy.mjs';
const preload = `import undici from ${JSON.stringify(undici('undici-7'))};
undici.setGlobalDispatcher(new undici.EnvHttpProxyAgent());`;

/** the remedy for what cannot be changed */
const preloaded: Client = {
  name: 'Node 20 fetch, with undici preloaded',
  tools: ['node-20'],
  version: (tool) => [tool('node-20'), '--version'],
  prepare: ({ home }) => writeFileSync(join(home, preloadName), preload),
  settings: ({ home }) => ({ NODE_OPTIONS: `--import=${join(home, preloadName)}` }),
  words: (run) => [run.tool('node-20'), '--input-type=module', '-e', fetchCode, `${run.base}/mark`],
  distrust,
  reach: byUndici,
};

const fromNode: readonly Client[] = nodes.flatMap(({ major, tool, undici: version, readsProxy }) => {
  const client = (name: string, code: string, reach: Reach, ...more: readonly string[]): Client => ({
    name: `Node ${major} ${name}`,
    tools: [tool],
    version: (path) => [path(tool), '--version'],
    words: (run) => [run.tool(tool), '--input-type=module', '-e', code, `${run.base}/mark`, ...more],
    distrust,
    reach,
  });
  return [
    client('fetch', fetchCode, readsProxy ? byNode : unreached),
    client('https', httpsCode, readsProxy ? byNode : unreached),
    client('undici', undiciCode, byUndici, undici(version)),
  ];
});

export const nodeClients: readonly Client[] = [...fromNode, preloaded];
