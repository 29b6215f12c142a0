// docs/clients.md says of each client what the tests show; its versions and its date are those of the run that wrote it.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { clientsPage } from '../../support/clients/clients-page.ts';

test('docs/clients.md has the rows of the matrix, each with a version', () => {
  const page = readFileSync(new URL('../../../docs/clients.md', import.meta.url), 'utf8');
  const [, date = '', system = ''] = /^Last shown on (\d{4}-\d{2}-\d{2}), on (.+)\.$/m.exec(page) ?? [];
  const versions = new Map(
    [...page.matchAll(/^\| ([^|]+) \| (\d+(?:\.\d+)+) \| /gm)].map(([, name = '', version = '']) => [name, version]),
  );
  expect(page).toBe(clientsPage({ date, system, versionOf: (name) => versions.get(name) ?? 'no version' }));
});
