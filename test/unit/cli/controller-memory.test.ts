// What the controller does not load, since each would stay in its memory for as long as it runs (docs/bench.md).
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runCommand } from '../../support/run-command.ts';
import { scrubbedEnvironment } from '../../support/scrubbed-environment.ts';

const source = join(import.meta.dirname, '..', '..', '..', 'src');
const loadAndTell = `
import { registerHooks } from 'node:module';
const urls = [];
registerHooks({ resolve: (specifier, context, next) => {
  const resolved = next(specifier, context);
  urls.push(resolved.url);
  return resolved;
} });
for (const file of process.argv.slice(1)) await import(file);
console.log(JSON.stringify({ urls, builtin: process.moduleLoadList }));
`;

async function loadedBy(...files: readonly string[]): Promise<{ readonly urls: string[]; readonly builtin: string[] }> {
  const args = ['--input-type=module', '--eval', loadAndTell, ...files.map((file) => join(source, file))];
  const { status, stdout, stderr } = await runCommand(process.execPath, args, { env: scrubbedEnvironment(source) });
  expect(status, stderr).toBe(0);
  return JSON.parse(stdout) as { urls: string[]; builtin: string[] };
}

const controller = loadedBy('cli/command-line.ts', 'cli/run-controller.ts');

test.each([
  ['the reader of YAML', /node_modules\/yaml\//],
  ['the reader of other files of ours', /node_modules\/zod\//],
  [
    'the fetch, caches and web sockets of the HTTP library',
    /node_modules\/undici\/(index\.js|lib\/(web|cache|mock|interceptor)\/)/,
  ],
  ['node-forge but for its encoder', /node_modules\/node-forge\/lib\/(index|x509|pki|tls)\.js/],
  ['what mints', /src\/(mint|sds|envoy|probe)\//],
])('the controller starts without %s', async (_name, pattern) => {
  expect((await controller).urls.filter((url) => pattern.test(url))).toEqual([]);
});

test('no command that serves starts with the fetch that Node has built in, as `import node:http` does', async () => {
  for (const loaded of [controller, loadedBy('cli/serve-sds.ts', 'cli/serve-pod.ts'), loadedBy('cli/gateway.ts')]) {
    expect((await loaded).builtin.filter((name) => name.endsWith('deps/undici/undici'))).toEqual([]);
  }
});
