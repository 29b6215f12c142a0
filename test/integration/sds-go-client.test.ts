// A gRPC client that is neither Envoy's nor Node's: grpc-go asks for a thousand names on each transport, acknowledges
// each and verifies every leaf.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { writeFileSync } from 'node:fs';
import { describeWithTools } from '../support/describe-with-tools.ts';
import { runCommand } from '../support/run-command.ts';
import { scrubbedEnvironment } from '../support/scrubbed-environment.ts';
import { anchorPem, createTestPool, startSdsUnderTest } from '../support/sds-under-test.ts';
import type { SdsUnderTest } from '../support/sds-under-test.ts';
import { createTempFolder } from '../support/temp-folder.ts';
import { waitFor } from '../support/wait-for.ts';

describeWithTools('a client in Go', ['sds-load'], ({ 'sds-load': load }) => {
  const folder = createTempFolder();
  const socket = folder.file('sds.sock');
  const caFile = folder.file('ca.pem');
  let sds: SdsUnderTest;

  beforeAll(async () => {
    const pool = createTestPool();
    writeFileSync(caFile, anchorPem(pool));
    sds = await startSdsUnderTest({ socket, pool });
  });

  afterAll(async () => {
    await sds.stop();
    folder.remove();
  });

  test.each(['ads', 'streams'])('is served on %s, and what it leaves behind is forgotten', async (transport) => {
    const names = 1000;
    const { status, stdout, stderr } = await runCommand(
      load,
      [
        ...['--socket', socket, '--transport', transport, '--prefix', transport],
        ...['--names', String(names), '--outstanding', '32', '--verify', caFile],
      ],
      { env: scrubbedEnvironment(folder.path), deadlineMs: 30_000 },
    );
    expect(status, stderr).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ granted: names, bad: 0 });
    await waitFor('its streams to be gone', () => sds.server.status().streams === 0);
    expect(sds.server.status()).toEqual({ streams: 0, liveNames: 0, waiting: 0 });
  });
});
