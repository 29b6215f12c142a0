// Each format is read back by what it is for.
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { environmentText } from '../../../src/projection/environment-text.ts';
import { scrubbedEnvironment } from '../../support/scrubbed-environment.ts';
import { createTempFolder, type TempFolder } from '../../support/temp-folder.ts';

const plain = ['/t/ca.pem', 'http://[::1]:3128', '', ' a  b ', 'a=b', '#x', 'a\nb\n', '$HOME $(id) `id`', '%s\\n', 'ü'];
const quotes = ["a'b", 'a"b', 'a`b', `a"b'c`, 'a\\'];

let temp: TempFolder;
beforeEach(() => (temp = createTempFolder()));
afterEach(() => temp.remove());

const named = (values: readonly string[]): Readonly<Record<string, string>> =>
  Object.fromEntries(values.map((value, index) => [`LG_${index}`, value]));
const printAll = `console.log(JSON.stringify(Object.fromEntries(Object.entries(process.env).filter(([name]) => name.startsWith('LG_')))))`;

describe('variables as text', () => {
  test('are set by a shell that evaluates them', () => {
    const variables = named([...plain, ...quotes]);
    const script = `${environmentText(variables, 'shell')}exec "$0" -e "$1"`;
    const printed = execFileSync('sh', ['-c', script, process.execPath, printAll], {
      env: scrubbedEnvironment(temp.path),
    });
    expect(JSON.parse(printed.toString())).toEqual(variables);
  });

  test('are set by node --env-file', () => {
    const variables = named([...plain.filter((value) => !value.includes('`')), ...quotes]);
    writeFileSync(temp.file('.env'), environmentText(variables, 'dotenv'));
    const args = [`--env-file=${temp.file('.env')}`, '-e', printAll];
    const printed = execFileSync(process.execPath, args, { env: scrubbedEnvironment(temp.path) });
    expect(JSON.parse(printed.toString())).toEqual(variables);
  });

  test('need no quotes in a dotenv file where they are plain, for those who take quotes for a part of the value', () => {
    expect(environmentText({ A: 'http://127.0.0.1:3128', B: '/t/ca-and-system.pem' }, 'dotenv')).toBe(
      'A=http://127.0.0.1:3128\nB=/t/ca-and-system.pem\n',
    );
  });

  test('that a dotenv file has no way to write are an error that names them', () => {
    expect(() => environmentText({ OPTIONS: "a'b`c" }, 'dotenv')).toThrow(/OPTIONS/);
  });

  test('are read back from JSON', () => {
    const variables = named([...plain, ...quotes]);
    expect(JSON.parse(environmentText(variables, 'json'))).toEqual(variables);
  });

  test('are a list of a container, in which nothing is replaced', () => {
    const variables = named([...plain, ...quotes, '$(LG_0)', '$$(LG_0)', '$', '$$']);
    const list: unknown = parse(environmentText(variables, 'k8s'));
    const expected = Object.entries(variables).map(([name, value]) => ({ name, value }));
    expect(asKubelet(list)).toEqual(expected);
  });
});

/** what the kubelet makes of a value: `$(NAME)` is replaced, `$$` is a `$` */
function asKubelet(list: unknown): unknown {
  if (!Array.isArray(list)) throw new Error('no list');
  return list.map(({ name, value }: { name: string; value: string }) => ({
    name,
    value: value.replace(/\$\$|\$\([^)]*\)/g, (found) => (found === '$$' ? '$' : 'replaced')),
  }));
}
