import { describe, expect, test } from 'vitest';
import { LeafgateError } from '../../../src/errors.ts';
import { outputForPeople, outputForPrograms, type ReadyFacts } from '../../../src/cli/up-output.ts';
import { createLog } from '../../../src/observe/create-log.ts';
import type { AccessRecord } from '../../../src/observe/access-record.ts';
import { trustFilePaths } from '../../../src/projection/trust-files.ts';
import { createFakeClock } from '../../support/fake-clock.ts';

const facts: ReadyFacts = {
  version: '1.2.3',
  front: undefined,
  transparentPort: undefined,
  proxyUrl: 'http://127.0.0.1:3128',
  trust: { ...trustFilePaths('/t'), mergedFile: '/t/all.pem' },
  stateFolder: '/s',
  ca: { id: 'ca-1', subject: 'O=leafgate\nCN=x', notAfter: '2027-11-30T10:00:00.000Z' },
  runCommand: 'leafgate run --',
  hostToTry: 'example.com',
};

const recordAt = (host: string): AccessRecord => ({
  ...{ kind: 'request', time: '2026-11-30T10:00:00Z', id: 'i', client: 'c', host, decision: 'intercept' },
  ...{ rule: 'default', outcome: 'ok', durationMs: 1, bytesReceived: 0, bytesSent: 0 },
});

function forPrograms() {
  let printed = '';
  const clock = createFakeClock(Date.UTC(2026, 10, 30));
  const log = createLog({ level: 'error', json: true, destination: { write: () => undefined } });
  const output = outputForPrograms({ stdout: (text) => (printed += text), log, clock });
  const lines = () =>
    printed
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  return { output, lines };
}

describe('for programs', () => {
  test('the first line is ready, also when a client came before the self-check had passed', () => {
    const { output, lines } = forPrograms();
    output.record(recordAt('early.test'));
    expect(lines()).toEqual([]);
    output.ready(facts);
    output.record(recordAt('later.test'));
    expect(lines().map(({ event, host }) => event ?? host)).toEqual(['ready', 'early.test', 'later.test']);
  });

  test('what comes early is not held back without bound', () => {
    const { output, lines } = forPrograms();
    for (let count = 0; count < 1_001; count += 1) output.record(recordAt(`${count}.test`));
    expect(lines()).toHaveLength(1);
    output.ready(facts);
    expect(lines()).toHaveLength(1_002);
  });

  test('sentences for people go nowhere', () => {
    const { output, lines } = forPrograms();
    output.stopping(5_000);
    output.progress('downloading');
    expect(lines()).toEqual([]);
  });

  test.each([
    [{ cause: 'signal', signal: 'SIGINT' } as const, { cause: 'signal', signal: 'SIGINT' }],
    [{ cause: 'forced' } as const, { cause: 'forced' }],
    [{ cause: 'interrupted', signal: 'SIGTERM' } as const, { cause: 'interrupted', signal: 'SIGTERM' }],
    [
      { cause: 'error', error: LeafgateError.from(new Error('x')) } as const,
      {
        ...{ cause: 'error', code: 'internal', message: 'an unexpected failure: x' },
        remedy: 'run again with --verbose and report the output',
      },
    ],
  ])('the last line is stopped with its cause: %j', (cause, expected) => {
    const { output, lines } = forPrograms();
    output.record(recordAt('early.test'));
    output.stopped(cause);
    output.stopped({ cause: 'forced' });
    expect(lines().at(-1)).toEqual({ event: 'stopped', time: '2026-11-30T00:00:00.000Z', ...expected });
    expect(lines()).toHaveLength(2);
  });
});

test('people read a banner with the CA on one line, and how to try it', () => {
  const printed: string[] = [];
  const output = outputForPeople({ stdout: (text) => void printed.push(text), say: (text) => void printed.push(text) });
  output.ready(facts);
  expect(printed[0]).toMatch(
    /^leafgate 1\.2\.3: gateway on http:.*\n {2}CA {5}ca-1, O=leafgate, CN=x, valid to 2027-11-30\n/,
  );
  expect(printed[0]).toContain('leafgate run -- curl https://example.com/');
  output.ready({ ...facts, hostToTry: undefined });
  expect(printed[1]).not.toContain('curl');
});
