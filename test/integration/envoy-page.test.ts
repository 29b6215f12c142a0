// The bootstrap on docs/envoy.md is run as it is printed, but for its paths and its port.
import { readFileSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { describeWithTools } from '../support/describe-with-tools.ts';
import { mainScript, runLeafgate } from '../support/gateway-under-test.ts';
import { freePort } from '../support/free-port.ts';
import { startProcess, type StartedProcess } from '../support/run-command.ts';
import { scrubbedEnvironment } from '../support/scrubbed-environment.ts';
import { createTempFolder, type TempFolder } from '../support/temp-folder.ts';
import { succeedingHandshake, tlsHandshake } from '../support/tls-client.ts';
import { waitFor } from '../support/wait-for.ts';

const page = readFileSync(new URL('../../docs/envoy.md', import.meta.url), 'utf8');
const [, printedBootstrap = ''] = /```yaml\n(node:[^]*?)```/.exec(page) ?? [];

for (const version of ['1.37.0', '1.40.0'] as const) {
  describeWithTools(`the bootstrap of docs/envoy.md on Envoy ${version}`, [`envoy-${version}`], (paths) => {
    let temp: TempFolder;
    const running: StartedProcess[] = [];
    beforeEach(() => {
      temp = createTempFolder();
    });
    afterEach(async () => {
      for (const child of running.splice(0).reverse()) await child.stop();
      temp.remove();
    });

    test('gets a leaf for an allowed name from `leafgate sds`, and an alert for another', async () => {
      const port = await freePort();
      const env = scrubbedEnvironment(temp.path);
      const options = { envoy: '', temp, env: {} };
      await runLeafgate(['pool', 'create', '--out', temp.file('pool.json')], options);
      const sds = [
        'sds',
        '--pool',
        temp.file('pool.json'),
        '--listen',
        `unix:${temp.file('sds.sock')}`,
        '--allow',
        '*.example.com',
      ];
      const server = startProcess(process.execPath, [mainScript, ...sds], { env });
      running.push(server);
      await server.waitForOutput(/SDS server is ready/, 30_000);
      const bootstrap = printedBootstrap
        .replaceAll('/run/leafgate', temp.path)
        .replace('port_value: 8443', `port_value: ${port}`);
      writeFileSync(temp.file('bootstrap.yaml'), bootstrap);
      running.push(
        startProcess(
          paths[`envoy-${version}`],
          ['-c', temp.file('bootstrap.yaml'), '--disable-hot-restart', '-l', 'error'],
          { env },
        ),
      );
      await waitFor(
        'Envoy to listen',
        async () => (await tlsHandshake({ port, name: 'up.example.com' })).kind === 'done',
        30_000,
      );

      const granted = await succeedingHandshake({ port, name: 'api.example.com' });
      expect(granted.subjectAltName).toBe('DNS:api.example.com');
      const refused = await tlsHandshake({ port, name: 'api.example.org' });
      expect(refused).toMatchObject({ kind: 'failed', alert: 40 });
    });
  });
}
