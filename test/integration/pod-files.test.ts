// Envoy itself reads what the controller renders for a pod. The places of a pod are moved below a folder of the test's own.
import { mkdirSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { renderGateway } from '../../src/controller/render-gateway.ts';
import { describeWithTools } from '../support/describe-with-tools.ts';
import { egressGateway, wholeEgressGateway } from '../support/egress-gateway.ts';
import { runCommand } from '../support/run-command.ts';
import { scrubbedEnvironment } from '../support/scrubbed-environment.ts';
import { createTempFolder, type TempFolder } from '../support/temp-folder.ts';
import { createTestAuthority } from '../support/test-certificates.ts';

describeWithTools('envoy --mode validate', ['envoy-1.40.0'], ({ 'envoy-1.40.0': envoy }) => {
  let folder: TempFolder;
  beforeAll(() => {
    folder = createTempFolder();
  });
  afterAll(() => folder.remove());

  test.each([
    ['a plain gateway', egressGateway()],
    ['a gateway with everything on', wholeEgressGateway()],
  ])('takes the files of the pods of %s', async (name, gateway) => {
    const root = folder.file(name.replaceAll(' ', '-'));
    const dir = `${root}/etc/leafgate/gateway`;
    mkdirSync(dir, { recursive: true });
    for (const made of ['run/leafgate/private', 'var/log/leafgate']) mkdirSync(`${root}/${made}`, { recursive: true });
    const roots = createTestAuthority().pem;
    const { data } = renderGateway({ gateway, originRootsPem: roots, clientRootsPem: roots });
    for (const [file, text] of Object.entries(data)) {
      writeFileSync(`${dir}/${file}`, text.replaceAll(/\/(?:etc|run|var\/log)\/leafgate\//g, `${root}$&`));
    }
    const args = ['--mode', 'validate', '--config-path', `${dir}/bootstrap.yaml`, '--log-level', 'error'];
    const result = await runCommand(envoy, args, { env: scrubbedEnvironment(folder.path) });
    expect(result, result.stderr).toMatchObject({ status: 0, signal: null });
    expect(result.stdout).toMatch(/OK\s*$/);
  });
});
