// docs/kubernetes.md, "A gateway whose pods have no pool": the openssl commands that make the two Secrets, renew them and change
// their CA, as they are printed, with a real kubectl on a real API server. What is there after each is judged as the controller
// judges it, also where one side has not heard of it yet.
import { mkdirSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import type { SecretContent } from '../../src/controller/controller-types.ts';
import { judgeSdsTls } from '../../src/controller/judge-sds-tls.ts';
import { SecretBytes } from '../../src/secret-bytes.ts';
import { parseEgressGateway } from '../../src/settings/egress-gateway.ts';
import { describeWithControlPlane } from '../support/cluster/describe-with-control-plane.ts';
import { apiAs, mustSucceed, type RawApi } from '../support/cluster/raw-api.ts';
import { kubectlKustomize } from '../support/kubectl-kustomize.ts';
import { runCommand } from '../support/run-command.ts';
import { scrubbedEnvironment } from '../support/scrubbed-environment.ts';
import { deployFolder, ofKind, onlyOne } from '../support/shipped-manifests.ts';
import { createTempFolder } from '../support/temp-folder.ts';
import { findTool } from '../support/tools.ts';

const page = readFileSync(new URL('../../docs/kubernetes.md', import.meta.url), 'utf8');
const sectionOf = (heading: string): string => page.split(`\n${heading}\n`)[1]?.split(/\n### |\n## /)[0] ?? '';
const byOpenssl = sectionOf("### The channel's Secrets by openssl alone");
const [make = '', renew = '', ...change] = [...byOpenssl.matchAll(/```sh\n([^]*?)```/g)].map(([, text = '']) => text);

type Sides = { readonly server: SecretContent; readonly client: SecretContent };

describeWithControlPlane("the channel's Secrets of docs/kubernetes.md", { tools: ['kubectl', 'openssl'] }, (plane) => {
  const temp = createTempFolder();
  let admin: RawApi;
  beforeAll(async () => {
    admin = apiAs(plane(), plane().user('admin'));
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'egress' } };
    mustSucceed(await admin.post('/api/v1/namespaces', namespace));
    mkdirSync(temp.file('work'));
  });
  afterAll(() => {
    admin.close();
    temp.remove();
  });

  const kubectl = (): string => findTool('kubectl').path ?? '';
  const spec = () => {
    const built = kubectlKustomize(kubectl(), join(deployFolder, 'example/gateway-tcp'), temp.file('home'));
    const reading = parseEgressGateway(onlyOne(ofKind(built, 'EgressGateway'), 'EgressGateway'));
    if (reading.kind === 'refused') throw reading.problems[0];
    return reading.gateway.spec.sds;
  };
  const run = async (text: string): Promise<void> => {
    const { PATH = '', ...env } = scrubbedEnvironment(temp.path);
    const { kubeconfigFile: KUBECONFIG } = plane().user('admin');
    const options = { cwd: temp.file('work'), env: { ...env, KUBECONFIG, PATH: `${dirname(kubectl())}:${PATH}` } };
    const { status, stderr } = await runCommand('/bin/sh', ['-euc', text], options);
    if (status !== 0) throw new Error(`exit code ${String(status)} of\n${text}\n${stderr}`);
  };
  const read = async (name: string): Promise<SecretContent> => {
    const { type, data } = mustSucceed(await admin.get(`/api/v1/namespaces/egress/secrets/${name}`));
    const keys = Object.entries(data as Readonly<Record<string, string>>);
    const bytes = keys.map(([key, text]) => [key, new SecretBytes(Buffer.from(text, 'base64'))] as const);
    return { name, namespace: 'egress', type: String(type), data: Object.fromEntries(bytes) };
  };
  const readSides = async (): Promise<Sides> => {
    const { tls } = spec();
    return { server: await read(tls?.secretName ?? ''), client: await read(tls?.clientSecretName ?? '') };
  };
  const verdictOn = (sides: Sides): string => {
    const fact = (value: SecretContent) => ({ secret: value, observed: { kind: 'found', value } as const });
    const channel = {
      ...{ server: fact(sides.server), client: fact(sides.client), now: systemClock.now() },
      serverName: 'gateway-sds.egress.svc.cluster.local',
    };
    const { reason, message } = judgeSdsTls(spec(), channel).judgement;
    return reason === 'Enabled' ? reason : message;
  };

  test('fit together when they are made, when they are renewed, and through another CA, whoever hears of it first', async () => {
    expect(change).toHaveLength(3);
    let before: Sides | undefined;
    const shown = new Set<string>();
    for (const step of [make, renew, ...change]) {
      await run(step);
      const after = await readSides();
      expect(verdictOn(after), step).toBe('Enabled');
      if (before !== undefined) {
        expect(verdictOn({ ...after, server: before.server }), step).toBe('Enabled');
        expect(verdictOn({ ...after, client: before.client }), step).toBe('Enabled');
      }
      shown.add(Buffer.from(after.server.data['tls.crt']?.reveal() ?? []).toString());
      before = after;
    }
    // made, renewed, of another CA
    expect(shown.size).toBe(3);
    const keys = readdirSync(temp.file('work')).filter((name) => name.endsWith('.key'));
    expect(keys.sort()).toEqual(['channel-ca-1.key', 'channel-ca-2.key']);
    const { metadata } = mustSucceed(await admin.get('/api/v1/namespaces/egress/secrets/gateway-sds-server'));
    expect(metadata.annotations).toBeUndefined();
  }, 120_000);

  test('would not fit where a side trusted the new CA alone before the other showed it', async () => {
    await run(`kubectl -n egress delete secret gateway-sds-server gateway-sds-client\n${make}`);
    const [first, second] = [await readSides(), change[2] ?? ''];
    await run(second);
    expect(verdictOn({ ...first, client: (await readSides()).client })).toContain('is not verified by ca.crt of');
  });
});
