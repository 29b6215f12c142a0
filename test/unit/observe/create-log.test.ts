import { describe, expect, test } from 'vitest';
import { createLog, type CreateLogOptions } from '../../../src/observe/create-log.ts';
import { SecretBytes } from '../../../src/secret-bytes.ts';

function logInto(options: Partial<CreateLogOptions> = {}) {
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line) };
  const log = createLog({ level: 'info', json: true, destination, ...options });
  return { log, lines, parsed: () => lines.map((line) => JSON.parse(line) as Record<string, unknown>) };
}

describe('the log for machines', () => {
  test('a line is one JSON object with level, time, sentence and fields, and nothing else', () => {
    const { log, parsed } = logInto();
    log.warn('the pool was refused', { path: '/p', version: 2, reason: true, host: undefined });
    expect(parsed()).toEqual([
      {
        level: 'warn',
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as unknown,
        message: 'the pool was refused',
        path: '/p',
        version: 2,
        reason: true,
      },
    ]);
  });

  test('a field that is not in the list of names does not compile', () => {
    // @ts-expect-error spelt in no other line
    expect(() => logInto().log.info('odd', { hostname: 'a.test' })).not.toThrow();
  });

  test('a log made with fields writes them into every line', () => {
    const { log, parsed } = logInto();
    log.with({ rule: 'all' }).with({ host: 'a.test' }).info('minted');
    expect(parsed()[0]).toMatchObject({ rule: 'all', host: 'a.test', message: 'minted' });
  });

  test('lines below the level are not written', () => {
    const { log, lines } = logInto({ level: 'warn' });
    log.debug('no');
    log.info('no');
    log.error('yes');
    expect(lines).toHaveLength(1);
  });

  test('no PEM gets out, in a field, in the sentence, or in a field of all lines', () => {
    const key = '-----BEGIN PRIVATE KEY-----\nMIGHAgEA\n-----END PRIVATE KEY-----';
    const { log, lines } = logInto();
    log.with({ detail: key }).error(`broken ${key}`, { reason: `x ${key}` });
    expect(lines.join('')).not.toContain('MIGHAgEA');
    expect(lines.join('')).toContain('[PEM removed]');
  });

  test('a secret that was made text shows its placeholder', () => {
    const { log, lines } = logInto();
    log.info('odd', { detail: String(new SecretBytes(new Uint8Array([1, 2]))) });
    expect(lines[0]).toContain('[secret]');
  });

  test('a field of any length is cut', () => {
    const { log, lines } = logInto();
    log.info('long', { detail: 'x'.repeat(1_000_000) });
    expect(lines[0]?.length).toBeLessThan(2_200);
  });
});

describe('the log for people', () => {
  test('a line has the time of day, the level, the sentence and the fields', () => {
    const { log, lines } = logInto({ json: false });
    log.warn('the pool was refused', { path: '/a b', version: 2 });
    expect(lines[0]).toMatch(/^\d\d:\d\d:\d\d warn {2}the pool was refused path="\/a b" version=2\n$/);
  });

  test('what a client chose cannot move the cursor, colour the terminal or begin a line', () => {
    const { log, lines } = logInto({ json: false, isTerminal: false });
    log.info('asked', { host: 'a\u001b[31m\r\nfake info line' });
    expect(lines.join('').match(/[\u0000-\u001f]/g)).toEqual(['\n']);
  });

  test('only a terminal gets colours', () => {
    const plain = logInto({ json: false, isTerminal: false });
    const coloured = logInto({ json: false, isTerminal: true });
    plain.log.error('x');
    coloured.log.error('x');
    expect(plain.lines[0]).not.toContain('\u001b[');
    expect(coloured.lines[0]).toContain('\u001b[31merror\u001b[0m');
  });
});
