// Whether Envoy holds what it should: it says nothing about a certificate that it does not take, so that its dump is compared.
import { existsSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { millis, systemClock, type Clock } from '../../../src/clock.ts';
import type { AdminClient } from '../../../src/envoy/admin-client.ts';
import { reloadCertificates, waitForSecret } from '../../../src/envoy/reload-certificates.ts';
import { createTempFolder, type TempFolder } from '../../support/temp-folder.ts';

/** no wait between two looks */
const clock: Clock = { ...systemClock, after: (_, run) => systemClock.after(millis(0), run) };

/** what Envoy 1.40 dumps for a secret of either kind */
const dump = (field: 'certificate_chain' | 'trusted_ca', text: string): string =>
  JSON.stringify(
    { configs: [{ secret: { x: { [field]: { inline_bytes: Buffer.from(text).toString('base64') } } } }] },
    null,
    1,
  );

function adminThatHolds(answers: readonly (string | Error)[]): {
  readonly admin: AdminClient;
  readonly asked: string[];
} {
  const asked: string[] = [];
  const get = (path: string): Promise<{ status: number; body: string }> => {
    const answer = answers[Math.min(asked.length, answers.length - 1)] ?? '';
    asked.push(decodeURIComponent(path));
    return answer instanceof Error ? Promise.reject(answer) : Promise.resolve({ status: 200, body: answer });
  };
  return { admin: { get, post: get, readStats: () => Promise.resolve(new Map()) }, asked };
}

describe('a certificate', () => {
  let temp: TempFolder;
  beforeEach(() => (temp = createTempFolder()));
  afterEach(() => temp.remove());
  const text = Buffer.from('new');

  test('is read again when something is moved into the reload folder, and asked for by its own name only', async () => {
    const { admin, asked } = adminThatHolds([
      dump('certificate_chain', 'old'),
      new Error('busy'),
      dump('certificate_chain', 'new'),
    ]);
    const reload = { admin, clock, reloadDir: temp.path };
    expect(await reloadCertificates(reload, { secret: 'origin_credential_a.b', text })).toBe(true);
    expect(existsSync(temp.file('reload'))).toBe(true);
    expect(asked).toHaveLength(3);
    expect(asked[0]).toContain('name_regex=^origin_credential_a\\.b$');
  });

  test.each([
    ['the old one', dump('certificate_chain', 'old')],
    ['nothing', '{}'],
  ])('is not taken while Envoy holds %s', async (_, held) => {
    const { admin } = adminThatHolds([held]);
    expect(await waitForSecret({ admin, clock }, { secret: 'front_certificate', text })).toBe(false);
  });

  test('may be roots as well', async () => {
    const { admin } = adminThatHolds([dump('trusted_ca', 'new')]);
    expect(await waitForSecret({ admin, clock }, { secret: 'client_roots', text })).toBe(true);
  });
});
