// `--max-memory` where nobody gives it: taken from the control group that the gateway runs in.
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeWithMachine } from '../support/describe-with-tools.ts';
import { startGatewayUnderTest, type GatewayUnderTest } from '../support/gateway-under-test.ts';
import { makeMemoryGroup, whyNoMemoryGroup, type MemoryGroup } from '../support/memory-group.ts';
import { runCommand } from '../support/run-command.ts';
import { scrubbedEnvironment } from '../support/scrubbed-environment.ts';
import { createTempFolder } from '../support/temp-folder.ts';
import { mainScript } from '../support/gateway-under-test.ts';

const mib = 1024 * 1024;
const needs = { tools: ['envoy-1.40.0'], whyNot: whyNoMemoryGroup } as const;

describeWithMachine('a gateway in a control group of 640 MiB', needs, ({ 'envoy-1.40.0': envoy }) => {
  const temp = createTempFolder();
  let group: MemoryGroup;
  let gateway: GatewayUnderTest;

  beforeAll(async () => {
    group = makeMemoryGroup(640 * mib);
    gateway = await startGatewayUnderTest({ envoy, temp, through: group.through });
  });
  afterAll(async () => {
    await gateway.stop();
    await group.remove();
    temp.remove();
  });

  const heapIn = (state: string): number => {
    const bootstrap = readFileSync(`${state}/gateway/envoy/bootstrap.yaml`, 'utf8');
    return Number(/max_heap_size_bytes: (\d+)/.exec(bootstrap)?.[1]) / mib;
  };

  test('gives Envoy what leafgate itself and the binary leave of it', () => {
    expect(heapIn(gateway.state)).toBe(640 - 192 - 56);
  });

  test('takes what was given in its place', async () => {
    const given = await startGatewayUnderTest({
      ...{ envoy, temp, through: group.through, stateName: 'given' },
      args: ['--max-memory', '200MiB'],
    });
    expect(heapIn(given.state)).toBe(200 - 56);
    await given.stop();
  });

  test('that is too small is refused before anything starts', async () => {
    const small = makeMemoryGroup(128 * mib);
    const [program, ...words] = [...small.through, process.execPath, mainScript, 'up', '--state', temp.file('small')];
    const { status, stderr } = await runCommand(program, [...words, '--listen', '127.0.0.1:0'], {
      env: scrubbedEnvironment(temp.path, { LEAFGATE_ENVOY: envoy }),
    });
    await small.remove();
    expect([status, stderr]).toEqual([expect.any(Number), expect.stringMatching(/has 128 MiB of memory/)]);
    expect(status).not.toBe(0);
  });
});
