// The product against the protocol suite.
import { expect, it } from 'vitest';
import { failureOf, protocolChecks } from '../../harness/sds-protocol-checks.ts';
import { makeGoodServer } from '../../harness/sds-world.ts';

it.each(protocolChecks)('$name', async (check) => {
  expect(await failureOf(check, makeGoodServer)).toBeUndefined();
});
