// docs/pool.md, "Another CA takes over": its commands as they are printed, under a running gateway whose client trusts what
// the gateway publishes.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeWithTools } from '../support/describe-with-tools.ts';
import { mainScript, startGatewayUnderTest, type GatewayUnderTest } from '../support/gateway-under-test.ts';
import { runCommand } from '../support/run-command.ts';
import { scrubbedEnvironment } from '../support/scrubbed-environment.ts';
import { createTempFolder, type TempFolder } from '../support/temp-folder.ts';
import { createTestAuthority } from '../support/test-certificates.ts';
import { waitFor } from '../support/wait-for.ts';

const page = readFileSync(new URL('../../docs/pool.md', import.meta.url), 'utf8');
const [, section = ''] = /\n## Another CA takes over\n([^]*?)\n### /.exec(page) ?? [];
const steps = [...section.matchAll(/```sh\n(.*?)```/gs)].map(([, commands = '']) => commands);

type Pool = { readonly ActiveForSigning: string };

describeWithTools('another CA', ['envoy-1.40.0', 'curl'], ({ 'envoy-1.40.0': envoy, curl }) => {
  let temp: TempFolder;
  let gateway: GatewayUnderTest;
  beforeAll(async () => {
    temp = createTempFolder();
    gateway = await startGatewayUnderTest({ envoy, temp, stateName: '.local/state/leafgate' });
  }, 60_000);
  afterAll(async () => {
    await gateway.stop();
    temp.remove();
  });

  const env = () => scrubbedEnvironment(temp.path);
  const follow = async (step: string | undefined): Promise<void> => {
    const script = `set -e\nleafgate() { '${process.execPath}' '${mainScript}' "$@"; }\n${step ?? 'exit 9'}`;
    const { status, stderr } = await runCommand('sh', ['-c', script], { env: env() });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  };
  const heldIn = (file: string): number => readFileSync(file, 'utf8').split('BEGIN CERTIFICATE').length - 1;
  const published = (): number => heldIn(gateway.caFile);
  /** the file of anchors for a shell whose owner trusts a CA of his own */
  const ownFile = async (): Promise<string> => {
    const own = temp.file('own.pem');
    writeFileSync(own, createTestAuthority().pem);
    const args = [mainScript, 'env', '--format', 'json'];
    const { stdout } = await runCommand(process.execPath, args, { env: { ...env(), NODE_EXTRA_CA_CERTS: own } });
    return (JSON.parse(stdout) as Record<string, string>)['NODE_EXTRA_CA_CERTS'] ?? '';
  };
  /** the number of the CA that signed what a client accepted with these roots */
  const signer = async (roots: string): Promise<string | undefined> => {
    const args = [
      '-svS',
      '-m',
      '10',
      '-x',
      gateway.proxyUrl,
      '--cacert',
      roots,
      'https://self-check.leafgate.invalid/',
    ];
    const { stdout, stderr } = await runCommand(curl, args, { env: env() });
    return stdout === 'leafgate self-check\n' ? /issuer:.*leafgate CA (\w+)/.exec(stderr)?.[1] : undefined;
  };

  test('takes over by the commands of docs/pool.md, and clients that have both trust each step', async () => {
    expect(steps).toHaveLength(3);
    const first = await signer(gateway.caFile);
    expect(first).toBeDefined();
    const own = await ownFile();
    expect(heldIn(own)).toBe(2);
    await follow(steps[0]);
    await waitFor('both CAs to be published', () => published() === 2);
    await waitFor('both beside a CA that a user brought', () => heldIn(own) === 3);
    const both = join(temp.path, 'both.pem');
    writeFileSync(both, readFileSync(gateway.caFile));
    expect(await signer(both)).toBe(first);
    await follow(steps[1]);
    const { ActiveForSigning: second } = JSON.parse(readFileSync(join(gateway.state, 'pool.json'), 'utf8')) as Pool;
    await gateway.process.waitForOutput(new RegExp(`"caId":"${second}"`));
    expect(second).not.toBe(`ca-${first ?? ''}`);
    // a held leaf stays good as long as its CA is in the pool
    expect(await signer(both)).toBe(first);
    await follow(steps[2]);
    await waitFor('the old CA to be gone', () => published() === 1);
    await waitFor('a leaf of the new CA', async () => `ca-${(await signer(gateway.caFile)) ?? ''}` === second);
  });
});
