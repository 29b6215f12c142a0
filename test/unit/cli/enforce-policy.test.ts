// A changed policy and an Envoy that takes it, refuses it, or does not look: what decides then, and what is said.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createClosers, type Closers } from '../../../src/cli/closers.ts';
import { enforceGatewayPolicy } from '../../../src/cli/gateway-policy.ts';
import { makeGatewayFolder } from '../../../src/cli/gateway-folder.ts';
import { createLivePolicy, type LivePolicy } from '../../../src/cli/live-policy.ts';
import { cliErrors } from '../../../src/cli/cli-errors.ts';
import type { LiveOrigins, OriginsEnd } from '../../../src/cli/live-origins.ts';
import { LeafgateError } from '../../../src/errors.ts';
import { loadPolicy } from '../../../src/cli/policy-source.ts';
import type { AdminClient } from '../../../src/envoy/admin-client.ts';
import { createLog } from '../../../src/observe/create-log.ts';
import { createMetrics } from '../../../src/observe/create-metrics.ts';
import { createFakeClock, type FakeClock } from '../../support/fake-clock.ts';
import { gatewaySpec } from '../../support/gateway-spec.ts';
import { createTempFolder, type TempFolder } from '../../support/temp-folder.ts';
import { waitFor } from '../../support/wait-for.ts';
import { host } from '../policy/policy-fixtures.ts';

let folder: TempFolder;
let clock: FakeClock;
let closers: Closers;
let live: LivePolicy;
let lines: string;
let reviews: number;
let originsEnd: OriginsEnd;
/** the names of each list that was put in force */
let puts: (readonly string[])[];
const origins = 'origins: [{name: a, hosts: [a.test], certificate: c, key: k}]';
/** what this Envoy does with a file that it is given */
let envoy: 'takes' | 'refuses' | 'is blind';
let refusals: number;
let held: string;

const policyPath = () => folder.file('policy.yaml');
const rendered = () => folder.file('rendered/policy.json');

const admin: AdminClient = {
  get: () => {
    look();
    return Promise.resolve({ status: 200, body: `x.version_text: "${held}"\n` });
  },
  post: () => Promise.reject(new Error('nothing is posted')),
  readStats: () => {
    look();
    return Promise.resolve(new Map([['update_rejected', refusals]]));
  },
};

let looked = '';
function look(): void {
  const text = existsSync(rendered()) ? readFileSync(rendered(), 'utf8') : looked;
  if (text === looked || envoy === 'is blind') return;
  looked = text;
  if (envoy === 'refuses') refusals += 1;
  else held = (JSON.parse(text) as { version_info: string }).version_info;
}

beforeEach(async () => {
  folder = createTempFolder();
  clock = createFakeClock();
  closers = createClosers();
  [lines, reviews, refusals, held, envoy, looked] = ['', 0, 0, 'first', 'takes', ''];
  [originsEnd, puts] = [{ kind: 'taken' }, []];
  writeFileSync(policyPath(), 'default: deny');
  const loaded = await loadPolicy({ kind: 'file', path: policyPath() });
  const spec = gatewaySpec({ policy: loaded.file.policy }, folder.path);
  mkdirSync(spec.paths.renderedDir);
  writeFileSync(rendered(), looked);
  const metrics = createMetrics({ withProcessMetrics: false });
  live = createLivePolicy(loaded, { metrics, clock });
  const log = createLog({ level: 'info', json: false, destination: { write: (text) => void (lines += text) } });
  const server = { reviewHeldNames: () => void (reviews += 1) };
  const put: LiveOrigins['put'] = (credentials) => {
    puts.push(credentials.map(({ name }) => name));
    return Promise.resolve(originsEnd);
  };
  const told = { folder: makeGatewayFolder(folder.file('gateway')), admin, server, origins: { put } };
  await enforceGatewayPolicy({ loaded, live, spec, ...told, clock, log, metrics, closers });
});
afterEach(async () => {
  await closers.closeAll(() => undefined);
  folder.remove();
});

/** lets time go by until something is so */
function passUntil(what: string, isSo: () => boolean): Promise<unknown> {
  return waitFor(what, () => {
    if (isSo()) return true;
    clock.advance(100);
    return false;
  });
}

const mayMint = (name: string): boolean => {
  const parsed = host(name);
  return live.mayMint(parsed).allowed;
};

test('the minter and Envoy’s file change together, held names are reviewed, and it is said', async () => {
  expect(mayMint('a.test')).toBe(false);
  writeFileSync(policyPath(), 'default: intercept');
  await passUntil('the policy', () => lines.includes('policy in force'));
  expect(mayMint('a.test')).toBe(true);
  expect([reviews, live.inForce().default]).toEqual([1, 'intercept']);
  expect(live.reasons()).toEqual([]);
  expect(readFileSync(folder.file('gateway/policy-in-force.json'), 'utf8')).toContain('"default": "intercept"');
});

test('an Envoy that refuses the file is an error and a reason, until it takes a later one', async () => {
  envoy = 'refuses';
  writeFileSync(policyPath(), 'default: intercept');
  await passUntil('the refusal', () => lines.includes('Envoy refused the policy'));
  expect([mayMint('a.test'), live.inForce().default, reviews]).toEqual([false, 'deny', 0]);
  expect(live.reasons()).toEqual([expect.stringMatching(/^Envoy refused the policy/)]);
  envoy = 'takes';
  writeFileSync(policyPath(), 'default: relay');
  await passUntil('the policy', () => lines.includes('policy in force'));
  expect(live.reasons()).toEqual([]);
});

test('an Envoy that does not see the file is told of once, and asked again until it has', async () => {
  envoy = 'is blind';
  writeFileSync(policyPath(), 'default: intercept');
  await passUntil('the word', () => live.reasons().length > 0);
  expect(live.reasons()).toEqual([expect.stringMatching(/^Envoy has not taken the policy/)]);
  // Envoy may take it at any moment, and then asks for what it may intercept
  expect([mayMint('a.test'), live.inForce().default]).toEqual([true, 'deny']);
  const told = lines;
  for (let second = 0; second < 20; second += 1) {
    clock.advance(1000);
    await new Promise((done) => setImmediate(done));
  }
  expect(lines).toBe(told);
  envoy = 'takes';
  await passUntil('the policy', () => lines.includes('policy in force'));
  expect(live.reasons()).toEqual([]);
});

test('a policy that cannot be written changes nothing, the minter included, and is tried again', async () => {
  rmSync(folder.file('rendered'), { recursive: true });
  envoy = 'is blind';
  writeFileSync(policyPath(), 'default: intercept');
  await passUntil('the word', () => live.reasons().length > 0);
  expect(live.reasons()).toEqual([expect.stringMatching(/could not be written.*: no such file or folder/)]);
  expect(mayMint('a.test')).toBe(false);
  mkdirSync(folder.file('rendered'));
  envoy = 'takes';
  await passUntil('the policy', () => lines.includes('policy in force'));
  expect(mayMint('a.test')).toBe(true);
});

test('what the gateway itself needs is minted whatever a policy says', () => {
  expect(['no-sni.leafgate.invalid', 'self-check.leafgate.invalid', 'a.test'].map(mayMint)).toEqual([
    true,
    true,
    false,
  ]);
});

test('origins are put in force before the rules, and rules that came with unusable ones wait for them', async () => {
  const problems = ['cert', 'key'].map((path) =>
    cliErrors.error('certificate-file-unreadable', { source: path, detail: 'gone' }),
  );
  originsEnd = { kind: 'unusable', error: LeafgateError.all(problems as [LeafgateError, LeafgateError]) };
  writeFileSync(policyPath(), `default: intercept\n${origins}`);
  await passUntil('the word', () => live.reasons().length > 0);
  expect(live.reasons()).toEqual([
    expect.stringMatching(/^the certificates of changed `origins` .*cert.*\(and 1 more\)$/),
  ]);
  expect([mayMint('a.test'), live.inForce().default, existsSync(rendered())]).toEqual([false, 'deny', true]);
  expect(readFileSync(rendered(), 'utf8')).toBe('');
  await passUntil('another try', () => puts.length > 3);
  expect(lines.match(/the certificates of changed/g)).toHaveLength(2);
  originsEnd = { kind: 'taken' };
  await passUntil('the policy', () => lines.includes('policy in force'));
  expect([live.reasons(), live.inForce().default]).toEqual([[], 'intercept']);
  expect(puts.at(-1)).toEqual(['a']);
});

test('rules for actors are worth a warning where nobody’s certificate is asked for', async () => {
  const rules = 'rules: [{name: who, hosts: [a.test], actors: ["spiffe://a/b"], verdict: deny}]';
  writeFileSync(policyPath(), `default: deny\n${rules}`);
  await passUntil('the word', () => /never decides without --client-ca.*who/.test(lines));
});
