// The suite against servers that are broken on purpose: each must turn the checks red that are there to notice it.
import { expect, it } from 'vitest';
import { brokenServers } from '../../harness/broken-servers.ts';
import { sdsProtocolChecks } from '../../harness/sds-protocol-checks.ts';

it.each(brokenServers)('a server that $name is noticed', async ({ make, noticedBy }) => {
  const results = await sdsProtocolChecks(make);
  const red = results.filter(({ failure }) => failure !== undefined).map(({ name }) => name);
  for (const beginning of noticedBy) {
    expect(
      red.some((name) => name.startsWith(beginning)),
      `"${beginning}…" is not red, but ${red.join(' | ')}`,
    ).toBe(true);
  }
});
