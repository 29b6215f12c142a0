// A disk that fills up under a running gateway, and one that is full when it starts. The disk is a small tmpfs in a mount
// namespace of its own; a machine that allows no such namespace skips this with the reason.
import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { describeWithTools } from '../support/describe-with-tools.ts';
import { environment, mainScript } from '../support/gateway-under-test.ts';
import { plainGet } from '../support/raw-proxy-client.ts';
import { runCommand, startProcess, type StartedProcess } from '../support/run-command.ts';
import { scrubbedEnvironment } from '../support/scrubbed-environment.ts';
import { createTempFolder, type TempFolder } from '../support/temp-folder.ts';
import { waitFor } from '../support/wait-for.ts';

const mayMount = spawnSync('unshare', ['-Urm', 'sh', '-c', 'mount -t tmpfs tmpfs /mnt']).status === 0;
const diskBytes = 4 * 1024 * 1024;

describeWithTools('on a full disk', ['envoy-1.40.0', 'curl'], ({ 'envoy-1.40.0': envoy, curl }) => {
  let temp: TempFolder;
  let disk: string;
  beforeEach(() => {
    temp = createTempFolder();
    disk = temp.file('disk');
  });
  afterEach(() => temp.remove());

  /** `leafgate up` in a shell that has the disk to itself; `before` runs first */
  const startOnDisk = (before: string): StartedProcess => {
    const up = [process.execPath, mainScript, 'up', '--listen', '127.0.0.1:0', '--state', join(disk, 'state')];
    const script = `mkdir ${disk} && mount -t tmpfs -o size=${diskBytes} tmpfs ${disk} && ${before} && exec "$@"`;
    return startProcess('unshare', ['-Urm', 'sh', '-c', script, 'sh', ...up], { env: environment({ envoy, temp }) });
  };

  test.skipIf(!mayMount)('it does not start, and says that the disk is full', async () => {
    const child = startOnDisk(`{ head -c ${diskBytes} /dev/zero >${disk}/filler || true; }`);
    expect((await child.exited).status).toBe(3);
    expect(child.stderr()).toMatch(/the disk is full/);
    expect(child.stderr()).not.toMatch(/\[internal\]/);
  });

  test.skipIf(!mayMount)('a start that comes half-way says so too', async () => {
    const room = 100 * 1024;
    const child = startOnDisk(`head -c ${diskBytes - room} /dev/zero >${disk}/filler`);
    expect((await child.exited).status).toBe(3);
    expect(child.stderr()).toMatch(/the disk is full/);
    expect(child.stderr()).not.toMatch(/\[internal\]/);
  });

  test.skipIf(!mayMount)(
    'a running gateway goes on, says that records are lost, counts them all, and says when it is over',
    async () => {
      const child = startOnDisk('true');
      const [, port = ''] = await child.waitForOutput(/gateway on http:\/\/127\.0\.0\.1:(\d+)/, 60_000);
      const inside = `/proc/${child.pid}/root${disk}`;
      const ask = async (path: string): Promise<string> => {
        const socket = join(inside, 'state', 'gateway', 'health.sock');
        const env = scrubbedEnvironment(temp.path);
        return (await runCommand(curl, ['-sS', '--unix-socket', socket, `http://x${path}`], { env })).stdout;
      };
      fill(`${inside}/filler`);
      for (let count = 0; count < 40; count += 1)
        expect((await plainGet(Number(port), 'http://10.0.0.1/')).status).toBe(403);
      await child.waitForOutput(/records are lost: the access log cannot be written.*is full/);
      expect(await ask('/readyz')).toMatch(/^ready\n- records are lost: .*is full/);
      const metric = /^leafgate_record_lines_lost_total\{reason="not-written"\} (\d+)$/m;
      const lines = /^leafgate_records_total\{decision="deny",outcome="refused"\} (\d+)$/m;
      await waitFor('the count of all lost lines', async () => {
        const text = await ask('/metrics');
        return Number(metric.exec(text)?.[1]) + Number(lines.exec(text)?.[1]) >= 40;
      });
      rmSync(`${inside}/filler`);
      await plainGet(Number(port), 'http://10.0.0.1/');
      await child.waitForOutput(/records are written again/);
      expect(await ask('/readyz')).toBe('ready\n');
      expect(child.stderr().match(/records are lost/g)).toHaveLength(1);
      child.signal('SIGTERM');
      expect((await child.exited).status).toBe(0);
    },
    60_000,
  );
});

/** to the last byte */
function fill(path: string): void {
  for (const size of [64 * 1024, 4096, 1]) {
    const block = Buffer.alloc(size);
    try {
      for (;;) writeFileSync(path, block, { flag: 'a' });
    } catch (error) {
      expect(error).toMatchObject({ code: 'ENOSPC' });
    }
  }
  expect(readFileSync(path).length).toBeGreaterThan(0);
}
