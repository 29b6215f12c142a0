import { expect, test } from 'vitest';
import { hostToTry } from '../../../src/policy/host-to-try.ts';
import { parsePolicyFile } from '../../../src/settings/policy-file.ts';

const tried = (text: string): string | undefined => {
  const reading = parsePolicyFile(Buffer.from(text), { source: 'policy.yaml', baseDir: '/' });
  if (reading.kind === 'refused') throw reading.problems[0];
  return hostToTry(reading.file.policy);
};

test.each([
  ['everything is intercepted', 'default: intercept\n', 'example.com'],
  ['nothing is', 'default: deny\n', undefined],
  [
    'example.com is refused',
    'default: intercept\nrules: [{name: x, hosts: [example.com], verdict: deny}]\n',
    undefined,
  ],
  [
    'another host is',
    'default: deny\nrules: [{name: x, hosts: ["*.a.test", api.b.test], verdict: intercept}]\n',
    'api.b.test',
  ],
  [
    'the first is for other ports',
    'default: deny\nrules:\n- {name: a, hosts: [a.test], ports: [80], verdict: intercept}\n- {name: b, hosts: [b.test], verdict: intercept}\n',
    'b.test',
  ],
])('what is offered to be tried is intercepted: %s', (_, text, expected) => {
  expect(tried(text)).toBe(expected);
});
