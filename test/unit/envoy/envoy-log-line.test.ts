// The lines are what Envoy 1.40 wrote with the log format of envoy-command.ts.
import { describe, expect, test } from 'vitest';
import { explainStartFailure, isNoise, parseEnvoyLogLine } from '../../../src/envoy/envoy-log-line.ts';

const json = (level: string, message: string, logger = 'main'): string => JSON.stringify({ level, logger, message });
const start = { file: '/s/bootstrap.yaml', how: 'exit code 1' };

describe('parseEnvoyLogLine', () => {
  test.each([
    ['trace', 'debug'],
    ['debug', 'debug'],
    ['info', 'info'],
    ['warning', 'warn'],
    ['error', 'error'],
    ['critical', 'error'],
    ['never seen', 'warn'],
  ])('%s becomes %s', (level, expected) => {
    expect(parseEnvoyLogLine(json(level, 'hello')).level).toBe(expected);
  });

  test.each(['std::bad_alloc', '{"level":"info"', '{"level":"info"}', '{"level":1,"logger":"x","message":"y"}'])(
    'a raw line (%s) is kept whole, as an error',
    (line) => {
      expect(parseEnvoyLogLine(line)).toEqual({ level: 'error', logger: 'raw', message: line });
    },
  );

  test('a leaf key that Envoy prints never gets further (measured: a malformed response at warning)', () => {
    const key = '-----BEGIN PRIVATE KEY-----\\nMIGHAgEA\\n-----END PRIVATE KEY-----';
    const { message } = parseEnvoyLogLine(json('warning', `rejected: inline_string: "${key}" of x`));
    expect(message).toBe('rejected: inline_string: "[PEM removed]" of x');
    expect(parseEnvoyLogLine(`raw ${key}`).message).not.toContain('MIGHAgEA');
  });

  test('a line of any length is cut', () => {
    expect(parseEnvoyLogLine(json('info', 'x'.repeat(100_000))).message.length).toBeLessThan(2_100);
  });
});

test.each([
  ['caught ENVOY_SIGTERM', true],
  ['There is no configured limit to the number of allowed active downstream connections. Configure', true],
  ['Failed to load trusted CA certificates', false],
])('%s: noise %s', (message, expected) => {
  expect(isNoise({ level: 'warn', logger: 'main', message })).toBe(expected);
});

describe('explainStartFailure', () => {
  const explain = (...lines: readonly string[]) => explainStartFailure(lines.map(parseEnvoyLogLine), start);

  test('an address in use names the address', () => {
    const bind = "cannot bind '127.0.0.1:3128': Address already in use";
    const error = explain(
      json('error', `listener 'l' failed to bind or apply socket options: ${bind}`, 'config'),
      json('critical', `error \`${bind}\` initializing config 'x'`),
      bind,
    );
    expect(error.code).toBe('envoy-listen-in-use');
    expect(error.message).toContain('127.0.0.1:3128');
    expect(error.remedy).toContain('--listen');
  });

  test('an address that is not ours names the reason', () => {
    const error = explain("cannot bind '203.0.113.7:80': Cannot assign requested address");
    expect(error.code).toBe('envoy-listen-refused');
    expect(error.message).toContain('203.0.113.7:80: Cannot assign requested address');
  });

  test("a refused configuration is told in Envoy's sentence, without its preamble", () => {
    const preamble =
      'Protobuf message (type envoy.config.bootstrap.v3.Bootstrap reason INVALID_ARGUMENT: invalid JSON in envoy.config.bootstrap.v3.Bootstrap @ ';
    const sentence = "static_resources.listeners[0]:  no   such field: 'clustr') has unknown fields";
    const error = explain(
      json('critical', `error \`${preamble}${sentence}\` initializing config 'goo.gle/x /s/b.yaml'`),
    );
    expect(error.code).toBe('envoy-config-refused');
    expect(error.message).toBe(
      "Envoy refused its configuration /s/bootstrap.yaml: static_resources.listeners[0]: no such field: 'clustr') has unknown fields",
    );
  });

  test('anything else is told by its last error, or the way it ended', () => {
    expect(explain(json('info', 'a'), json('critical', 'out of luck'), json('info', 'b')).message).toBe(
      'Envoy ended while it was starting (exit code 1): out of luck',
    );
    expect(explain().message).toBe('Envoy ended while it was starting (exit code 1): it said nothing');
  });
});
