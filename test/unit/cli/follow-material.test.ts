// Certificates that changed and are good, and an Envoy that takes them or does not: what is said, and that readyz has it.
import { rmSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { CheckedFiles } from '../../../src/cli/checked-files.ts';
import { cliErrors } from '../../../src/cli/cli-errors.ts';
import { createClosers } from '../../../src/cli/closers.ts';
import { followMaterial, type FollowedMaterial } from '../../../src/cli/follow-material.ts';
import type { CheckedMaterial, MaterialItem } from '../../../src/cli/gateway-material.ts';
import type { AdminClient } from '../../../src/envoy/admin-client.ts';
import { createLog } from '../../../src/observe/create-log.ts';
import { createMetrics } from '../../../src/observe/create-metrics.ts';
import { createFakeClock, type FakeClock } from '../../support/fake-clock.ts';
import { createTempFolder, type TempFolder } from '../../support/temp-folder.ts';
import { waitFor } from '../../support/wait-for.ts';

let folder: TempFolder;
let clock: FakeClock;
let lines: string;
let held: string;
let change: (text: string) => void;
let spoil: (detail: string) => void;
let followed: FollowedMaterial;
let files: CheckedFiles<CheckedMaterial>;
let closed: number;

const admin: AdminClient = {
  get: () => Promise.resolve({ status: 200, body: `{"trusted_ca": {"inline_bytes": "${btoa(held)}"}}` }),
  post: () => Promise.reject(new Error('nothing is posted')),
  readStats: () => Promise.reject(new Error('nothing is counted')),
};

const item: MaterialItem = {
  kind: 'client-ca',
  files: [{ path: '/clients.pem', source: '--client-ca /clients.pem' }],
  secret: 'client_roots',
  check: () => [],
};

function materialOf(text: string): CheckedMaterial {
  return { certificates: [], text: Buffer.from(text) };
}

beforeEach(() => {
  folder = createTempFolder();
  clock = createFakeClock();
  [lines, held] = ['', 'old'];
  closed = 0;
  files = {
    current: () => materialOf('old'),
    follow: ({ taken, refused }) => {
      change = (text) => taken(materialOf(text));
      spoil = (detail) => refused(cliErrors.error('certificate-file-unreadable', { source: 'a', detail }), false);
    },
    close: () => void (closed += 1),
  };
  followed = followMaterial({
    material: [{ item, files }],
    ...{ admin, clock, closers: createClosers(), reloadDir: folder.path },
    metrics: createMetrics({ withProcessMetrics: false }),
    log: createLog({ level: 'info', json: false, destination: { write: (text) => void (lines += text) } }),
    publish: { 'origin-ca': () => Promise.resolve(true), 'origin-credential': () => Promise.resolve(true) },
  });
});
afterEach(() => folder.remove());

const passUntil = (what: string, isSo: () => boolean): Promise<unknown> =>
  waitFor(what, () => {
    clock.advance(100);
    return isSo();
  });

test('what Envoy holds in the end is no trouble', async () => {
  held = 'new';
  change('new');
  await passUntil('the word', () => lines.includes('certificates taken'));
  expect(followed.troubles()).toEqual([]);
});

test('what Envoy does not take is said, and stays a reason until something better comes', async () => {
  change('new');
  await passUntil('the reason', () => followed.troubles().length > 0);
  expect(followed.troubles()).toEqual([expect.stringContaining('Envoy does not take certificates')]);
  expect(lines).toContain('Envoy does not take certificates');
  held = 'newer';
  change('newer');
  await passUntil('the word', () => lines.includes('certificates taken'));
  expect(followed.troubles()).toEqual([]);
});

test('what cannot be handed to Envoy at all is a reason too', async () => {
  rmSync(folder.path, { recursive: true });
  change('new');
  await passUntil('the reason', () => followed.troubles().length > 0);
  expect(followed.troubles()).toEqual([expect.stringMatching(/could not be handed to Envoy: /)]);
});

test('what a busy Envoy did not take is handed to it again, and told once', async () => {
  change('new');
  await passUntil('the reason', () => followed.troubles().length > 0);
  for (let second = 0; second < 30; second += 1) {
    clock.advance(1000);
    await new Promise((done) => setImmediate(done));
  }
  expect(lines.match(/Envoy does not take certificates/g)).toHaveLength(1);
  held = 'new';
  await passUntil('the word', () => lines.includes('certificates taken'));
  expect(followed.troubles()).toEqual([]);
});

test('bad files that come meanwhile are not handed over, and theirs is the word', async () => {
  change('new');
  await passUntil('the reason', () => followed.troubles().length > 0);
  spoil('torn');
  expect(followed.troubles()).toEqual([expect.stringMatching(/^the last good certificate serves: .*torn/)]);
  held = 'new';
  for (let second = 0; second < 30; second += 1) {
    clock.advance(1000);
    await new Promise((done) => setImmediate(done));
  }
  expect(lines).not.toContain('certificates taken');
});

test('what is dropped is looked at no more and is no trouble; what is added is followed', async () => {
  change('new');
  await passUntil('the reason', () => followed.troubles().length > 0);
  followed.drop([{ item, files }]);
  expect([followed.troubles(), closed]).toEqual([[], 1]);
  followed.add([{ item, files }]);
  held = 'newer';
  change('newer');
  await passUntil('the word', () => lines.includes('certificates taken'));
});
