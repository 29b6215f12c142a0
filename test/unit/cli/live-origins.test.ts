// A list of origins that changes, and an Envoy that takes what is written for it: which clusters are there when.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createClosers, type Closers } from '../../../src/cli/closers.ts';
import type { OpenedMaterial } from '../../../src/cli/gateway-material.ts';
import { createLiveOrigins, type LiveOrigins } from '../../../src/cli/live-origins.ts';
import type { AdminClient } from '../../../src/envoy/admin-client.ts';
import type { OriginCredential } from '../../../src/settings/gateway-spec.ts';
import { caPem, hoursAgo, issueCredential, makeCurrentCa } from '../../support/credential-workshop.ts';
import { createFakeClock, type FakeClock } from '../../support/fake-clock.ts';
import { gatewaySpec } from '../../support/gateway-spec.ts';
import { createTempFolder, type TempFolder } from '../../support/temp-folder.ts';
import { waitFor } from '../../support/wait-for.ts';

const ca = makeCurrentCa('clients of origins');
let folder: TempFolder;
let clock: FakeClock;
let closers: Closers;
let live: LiveOrigins;
let added: OpenedMaterial[];
let dropped: OpenedMaterial[];
/** what this Envoy does with clusters that it is given */
let envoy: 'takes' | 'refuses';
let refusals: number;

type Document = { readonly version_info: string; readonly resources: readonly { readonly name: string }[] };
const written = (file: string): Document =>
  JSON.parse(readFileSync(folder.file(`rendered/${file}`), 'utf8')) as Document;
const clusters = (): readonly string[] =>
  written('clusters.json')
    .resources.map(({ name }) => name.replace(/-[0-9a-f]{12}/, ''))
    .filter((name) => !name.endsWith('-http1'));

const admin: AdminClient = {
  post: () => Promise.reject(new Error('nothing is posted')),
  readStats: () => Promise.resolve(new Map([['cluster_manager.cds.update_rejected', refusals]])),
  get: (path) => {
    const file = path.includes('cds') ? 'clusters.json' : 'origin-choice.json';
    if (envoy === 'refuses') refusals += 1;
    const version = envoy === 'takes' ? written(file).version_info : 'earlier';
    return Promise.resolve({ status: 200, body: `x.version_text: "${version}"\n` });
  },
};

const entry = (name: string): OriginCredential => {
  const [certificateFile, keyFile] = [folder.file(`${name}.crt`), folder.file(`${name}.key`)];
  return { name, hosts: [], certificateFile, keyFile, caFile: folder.file('ca.pem') };
};
function write(name: string): OriginCredential {
  const made = issueCredential(ca, { uris: [`spiffe://a/${name}`], purposes: ['client'], notAfter: hoursAgo(-1) });
  writeFileSync(folder.file(`${name}.crt`), made.certificatePem);
  writeFileSync(folder.file(`${name}.key`), made.keyPem);
  return entry(name);
}

beforeEach(() => {
  folder = createTempFolder();
  clock = createFakeClock(Date.now());
  closers = createClosers();
  [added, dropped, envoy, refusals] = [[], [], 'takes', 0];
  writeFileSync(folder.file('ca.pem'), caPem(ca));
  const spec = gatewaySpec({}, folder.path);
  mkdirSync(spec.paths.renderedDir);
  for (const file of ['clusters.json', 'origin-choice.json']) {
    writeFileSync(folder.file(`rendered/${file}`), '{"version_info":"earlier","resources":[]}');
  }
  const material = {
    add: (opened: readonly OpenedMaterial[]) => void added.push(...opened),
    drop: (gone: readonly OpenedMaterial[]) => void dropped.push(...gone),
  };
  live = createLiveOrigins({ spec, admin, clock, closers, material, list: [], opened: [] });
});
afterEach(async () => {
  await closers.closeAll(() => undefined);
  for (const { files } of added) files.close();
  folder.remove();
});

test('clusters come before who picks them, and go some seconds after nobody does', async () => {
  expect(await live.put([write('a')])).toEqual({ kind: 'taken' });
  expect(clusters()).toEqual(['credential-a']);
  expect(await live.put([write('b')])).toEqual({ kind: 'taken' });
  expect(clusters()).toEqual(['credential-a', 'credential-b']);
  expect([added.length, dropped.length]).toEqual([4, 2]);
  clock.advance(9_999);
  expect(clusters()).toHaveLength(2);
  clock.advance(1);
  await waitFor('the removal', () => clusters().length === 1);
  expect(clusters()).toEqual(['credential-b']);
});

test('a refusal leaves the list, and what was opened for it is closed', async () => {
  await live.put([write('a')]);
  envoy = 'refuses';
  expect(await live.put([entry('a'), write('b')])).toEqual({ kind: 'late' });
  expect([added.length, dropped.length]).toEqual([2, 0]);
  envoy = 'takes';
  expect(await live.renew()).toBe(true);
  expect(await live.put([entry('a'), entry('b')])).toEqual({ kind: 'taken' });
  expect(clusters()).toEqual(['credential-a', 'credential-b']);
});

test('calls at once follow one another, and the last one is in force', async () => {
  const [a, b] = [write('a'), write('b')];
  const ends = await Promise.all([live.put([a]), live.put([b]), live.renew(), live.put([a, b]), live.put([])]);
  expect(ends).toEqual([{ kind: 'taken' }, { kind: 'taken' }, true, { kind: 'taken' }, { kind: 'taken' }]);
  clock.advance(10_000);
  await waitFor('the removal', () => clusters().length === 0);
  expect(dropped.length).toBe(added.length);
});
