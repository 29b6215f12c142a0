// docs/sds-channel.md as it is printed: its openssl commands make both sides, who is asked by its s_client shows in the log
// alone, its cluster and secrets go into the bootstrap of docs/envoy.md, and a real Envoy gets its leaves that way, also after
// the renewal that the page describes.
import { X509Certificate } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createAdminClient } from '../../src/envoy/admin-client.ts';
import { describeWithTools } from '../support/describe-with-tools.ts';
import { freePort } from '../support/free-port.ts';
import { mainScript } from '../support/gateway-under-test.ts';
import { printedBootstrap } from '../support/own-bootstrap.ts';
import { readSample } from '../support/read-sample.ts';
import { runCommand, startProcess, type StartedProcess } from '../support/run-command.ts';
import { scrubbedEnvironment } from '../support/scrubbed-environment.ts';
import { writePool } from '../support/sds-command-under-test.ts';
import { createTempFolder, type TempFolder } from '../support/temp-folder.ts';
import { succeedingHandshake, tlsHandshake } from '../support/tls-client.ts';
import { waitFor } from '../support/wait-for.ts';

const page = readFileSync(new URL('../../docs/sds-channel.md', import.meta.url), 'utf8');
const [byOpenssl = ''] = /## By openssl alone\n[^]*?(?=\n## )/.exec(page) ?? [];
const [make = '', renew = ''] = [...byOpenssl.matchAll(/```sh\n([^]*?)```/g)].map(([, text = '']) => text);
const [seeIt = ''] = /## See that it works\n[^]*/.exec(page) ?? [];
const [ask = ''] = /openssl s_client[^]*?(?=\n```)/.exec(seeIt) ?? [];
const [cluster = '', client = '', roots = ''] = [...page.matchAll(/```yaml\n([^]*?)```/g)].map(([, text = '']) => text);

for (const version of ['1.37.0', '1.40.0'] as const) {
  describeWithTools(`docs/sds-channel.md on Envoy ${version}`, [`envoy-${version}`, 'openssl'], (paths) => {
    let temp: TempFolder;
    const running: StartedProcess[] = [];
    beforeEach(() => (temp = createTempFolder()));
    afterEach(async (context) => {
      if (context.task.result?.state === 'fail') {
        for (const child of running) process.stderr.write(`--- log of ${child.pid}\n${child.stderr()}\n`);
      }
      for (const child of running.splice(0).reverse()) await child.stop();
      temp.remove();
    });

    const shell = async (text: string): Promise<void> => {
      const options = { env: scrubbedEnvironment(temp.path), cwd: temp.file('work') };
      const { status, stderr } = await runCommand('/bin/sh', ['-euc', text], options);
      if (status !== 0) throw new Error(`exit code ${String(status)} of\n${text}\n${stderr}`);
    };

    /** the page's places, on this machine */
    const local = (text: string, sdsPort: number): string =>
      text
        .replaceAll('/etc/envoy/tls', temp.file('work/envoy'))
        .replaceAll('/etc/envoy', temp.path)
        .replaceAll('/run/leafgate', temp.path)
        .replace('address: sds.example.com, port_value: 8443', `address: 127.0.0.1, port_value: ${sdsPort}`);

    test('its two sides speak with each other, before and after a renewal', async () => {
      mkdirSync(temp.file('work'));
      await shell(make);
      const env = scrubbedEnvironment(temp.path);
      const { file: poolFile, ca } = writePool(temp.file('pool.json'));
      const sdsOptions = [
        ...['--pool', poolFile, '--allow', '*.example.com', '--tls-dir', temp.file('work/server')],
        ...['--listen', 'tcp:127.0.0.1:0', '--server-name', 'sds.example.com', '--allowed-san', 'envoy.example.com'],
        ...['--metrics', `unix:${temp.file('metrics.sock')}`],
      ];
      const server = startProcess(process.execPath, [mainScript, 'sds', ...sdsOptions], { env });
      running.push(server);
      const [, sdsPort] = await server.waitForOutput(/SDS server is ready.*tcp:127\.0\.0\.1:(\d+)/, 30_000);
      const asked = ask.replace(':8444', `:${sdsPort}`);
      await shell(asked);
      await server.waitForOutput(/an SDS peer was let in.*envoy\.example\.com/, 30_000);
      // whether openssl sees its connection closed before it ends by itself is a race
      await shell(`${asked.replace(/-cert .* -key \S+/, '')} || true`);
      await server.waitForOutput(/an SDS peer was not let in.*no-certificate/, 30_000);
      const port = await freePort();
      const [head = ''] = printedBootstrap.split('  clusters:\n');
      const bootstrap = `${head}  clusters:\n${cluster}`.replace('port_value: 8443', `port_value: ${port}`);
      for (const [name, text] of Object.entries({
        'bootstrap.yaml': bootstrap,
        'sds-client.yaml': client,
        'sds-roots.yaml': roots,
      })) {
        writeFileSync(temp.file(name), local(text, Number(sdsPort)));
      }
      const options = ['-c', temp.file('bootstrap.yaml'), '--disable-hot-restart', '-l', 'error'];
      running.push(startProcess(paths[`envoy-${version}`], options, { env }));
      const isServed = async (name: string): Promise<boolean> => (await tlsHandshake({ port, name })).kind === 'done';
      await waitFor('Envoy to serve', () => isServed('up.example.com'), 30_000);
      const granted = await succeedingHandshake({ port, name: 'api.example.com', ca });
      expect(granted).toMatchObject({ authorized: true, subjectAltName: 'DNS:api.example.com' });
      expect(await tlsHandshake({ port, name: 'api.example.org' })).toMatchObject({ kind: 'failed', alert: 40 });

      await shell(renew);
      const renewed = new X509Certificate(readFileSync(temp.file('work/envoy/tls.crt'))).serialNumber.toLowerCase();
      const admin = createAdminClient(temp.file('admin.sock'));
      await waitFor('Envoy to take it', async () => (await admin.get('/certs')).body.includes(renewed));
      // the connection that it shows it on
      await server.stop();
      running.splice(running.indexOf(server), 1);
      const again = sdsOptions.map((option) => option.replace('127.0.0.1:0', `127.0.0.1:${sdsPort}`));
      const second = startProcess(process.execPath, [mainScript, 'sds', ...again], { env });
      running.push(second);
      await second.waitForOutput(/an SDS peer was let in/, 30_000);
      await waitFor('a new name', () => isServed('renewed.example.com'));
      expect(await readSample(temp.file('metrics.sock'), 'leafgate_sds_channel{kind="tls"}')).toBe(1);
    });
  });
}
