// docs/pool.md, "In a Secret": the steps by which another CA takes over, as they are printed, with a real kubectl on a real
// API server. What a gateway makes of each is for other tests.
import { mkdirSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect, test } from 'vitest';
import { describeWithControlPlane } from '../support/cluster/describe-with-control-plane.ts';
import { apiAs, mustSucceed } from '../support/cluster/raw-api.ts';
import { mainScript } from '../support/gateway-under-test.ts';
import { runCommand } from '../support/run-command.ts';
import { scrubbedEnvironment } from '../support/scrubbed-environment.ts';
import { createTempFolder } from '../support/temp-folder.ts';
import { findTool } from '../support/tools.ts';

const page = readFileSync(new URL('../../docs/pool.md', import.meta.url), 'utf8');
const blocksOf = (heading: string): readonly string[] => {
  const [, after = ''] = page.split(`\n${heading}\n`);
  const [section = ''] = after.split(/\n##/);
  return [...section.matchAll(/```sh\n([^]*?)```/g)].map(([, text = '']) => text);
};
const [taking = 'exit 9', bringing = 'exit 9'] = blocksOf('### In a Secret');
const steps = blocksOf('## Another CA takes over').map((step) => step.replace(/^cd .*\n/, ''));

type Pool = { readonly CAs: readonly { readonly ID: string }[]; readonly ActiveForSigning: string };

describeWithControlPlane('a pool in a Secret', { tools: ['kubectl', 'openssl'] }, (plane) => {
  test('gets its next CA by the commands of docs/pool.md, and keeps no copy of its keys elsewhere', async () => {
    using temp = disposable();
    const admin = apiAs(plane(), plane().user('admin'));
    const { PATH = '', ...env } = scrubbedEnvironment(temp.path);
    const { kubeconfigFile: KUBECONFIG } = plane().user('admin');
    const kubectl = dirname(findTool('kubectl').path ?? '');
    const run = async (text: string): Promise<void> => {
      const script = `set -e\nleafgate() { '${process.execPath}' '${mainScript}' "$@"; }\n${text}`;
      const options = { cwd: temp.file('work'), env: { ...env, KUBECONFIG, PATH: `${kubectl}:${PATH}` } };
      const { status, stderr } = await runCommand('/bin/sh', ['-c', script], options);
      expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    };
    const secret = async () =>
      mustSucceed(await admin.get('/api/v1/namespaces/egress/secrets/gateway-ca-pool')) as unknown as {
        readonly metadata: { readonly annotations?: unknown };
        readonly data: { readonly pool: string };
      };
    const pool = async (): Promise<Pool> =>
      JSON.parse(Buffer.from((await secret()).data.pool, 'base64').toString()) as Pool;

    mkdirSync(temp.file('work'));
    await run('kubectl create namespace egress\nleafgate pool create --secret egress/gateway-ca-pool');
    const [first] = (await pool()).CAs;
    const seen: (readonly [number, boolean])[] = [];
    expect(steps).toHaveLength(3);
    for (const step of steps) {
      await run(`${taking}${step}${bringing}`);
      const { CAs, ActiveForSigning } = await pool();
      seen.push([CAs.length, ActiveForSigning === first?.ID]);
    }
    expect(seen).toEqual([
      [2, true],
      [2, false],
      [1, false],
    ]);
    expect((await secret()).metadata.annotations).toBeUndefined();
    admin.close();
  }, 120_000);
});

function disposable() {
  const temp = createTempFolder();
  return { path: temp.path, file: (name: string) => temp.file(name), [Symbol.dispose]: () => temp.remove() };
}
