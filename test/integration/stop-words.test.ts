// What somebody at a terminal is told when `leafgate up` is stopped: at rest, with something open, twice, and too early.
import { writeFileSync, chmodSync, mkdirSync } from 'node:fs';
import { connect } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { describeWithTools } from '../support/describe-with-tools.ts';
import { mainScript } from '../support/gateway-under-test.ts';
import { startProcess, type StartedProcess } from '../support/run-command.ts';
import { scrubbedEnvironment } from '../support/scrubbed-environment.ts';
import { createTempFolder, type TempFolder } from '../support/temp-folder.ts';
import { waitFor } from '../support/wait-for.ts';

describeWithTools('stopping leafgate up', ['envoy-1.40.0'], ({ 'envoy-1.40.0': envoy }) => {
  let temp: TempFolder;
  beforeEach(() => {
    temp = createTempFolder();
  });
  afterEach(() => temp.remove());

  const up = (extra: Record<string, string>, ...more: readonly string[]): StartedProcess => {
    const args = [mainScript, 'up', '--listen', '127.0.0.1:0', '--state', temp.file('state'), ...more];
    return startProcess(process.execPath, args, { env: scrubbedEnvironment(temp.path, extra) });
  };

  test('with nothing open there is nothing to wait for, and the end is said', async () => {
    const gateway = up({ LEAFGATE_ENVOY: envoy });
    await gateway.waitForOutput(/gateway on http:/, 60_000);
    gateway.signal('SIGINT');
    expect(await gateway.exited).toEqual({ status: 0, signal: null });
    expect(gateway.stderr()).toMatch(/\nstopping\nstopped\n$/);
  });

  test('with a connection open the wait is said, and a second Ctrl-C ends it with a word', async () => {
    const gateway = up({ LEAFGATE_ENVOY: envoy }, '--drain', '1m');
    const [, port] = await gateway.waitForOutput(/gateway on http:\S+:(\d+)\n/, 60_000);
    const held = connect(Number(port), '127.0.0.1').on('error', () => undefined);
    await new Promise<void>((resolve) => held.once('connect', () => resolve()));
    gateway.signal('SIGINT');
    await gateway.waitForOutput(/stopping: open connections get 1m; Ctrl-C again ends them at once\n/);
    let ended: unknown;
    void gateway.exited.then((exit) => (ended = exit));
    await waitFor('the end', () => {
      // the first that comes too soon is the same wish
      if (ended === undefined) gateway.signal('SIGINT');
      return ended;
    });
    expect(ended).toEqual({ status: 1, signal: null });
    expect(gateway.stderr()).toMatch(/\nstopped at once, as the second signal asked: .*\n$/);
    held.destroy();
  });

  test('before the gateway is up, as in the download of Envoy, the exit code is a shell’s for that signal', async () => {
    mkdirSync(temp.file('bin'));
    writeFileSync(temp.file('bin/python3'), '#!/bin/sh\necho called >&2\nexec sleep 60\n');
    chmodSync(temp.file('bin/python3'), 0o755);
    const gateway = up({ PATH: `${temp.file('bin')}:/usr/bin:/bin` });
    await gateway.waitForOutput(/downloading Envoy/, 30_000);
    gateway.signal('SIGINT');
    expect(await gateway.exited).toEqual({ status: 130, signal: null });
    expect(gateway.stderr()).toMatch(/\nstopped by SIGINT before the gateway was up\n$/);
  });
});
