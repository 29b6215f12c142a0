// deploy/actor put on workloads by a real kustomize, and what comes of it put to a real API server: every field known, every
// pod within the restricted profile, nothing of the workload's own lost.
import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { actorVariables } from '../support/actor-component.ts';
import { apiPath } from '../support/cluster/apply-manifests.ts';
import { describeWithControlPlane } from '../support/cluster/describe-with-control-plane.ts';
import { apiAs, type RawApi } from '../support/cluster/raw-api.ts';
import { kubectlKustomize } from '../support/kubectl-kustomize.ts';
import { deployFolder, onlyOne } from '../support/shipped-manifests.ts';
import type { Container, Deployment, Manifest } from '../support/manifest-types.ts';
import { createTempFolder } from '../support/temp-folder.ts';
import { findTool } from '../support/tools.ts';

/** with variables, init containers, mounts and volumes of its own */
function richWorkload(kind: string): string {
  const own = {
    securityContext: { runAsNonRoot: true, runAsUser: 10001, seccompProfile: { type: 'RuntimeDefault' } },
    restartPolicy: kind === 'Job' ? 'Never' : 'Always',
    initContainers: [container('prepare', { env: [{ name: 'OWN', value: '1' }] })],
    containers: [
      container('one', {
        env: [
          { name: 'OWN', value: '2' },
          { name: 'HTTPS_PROXY', value: 'http://another.test:8080' },
        ],
        volumeMounts: [{ name: 'data', mountPath: '/data' }],
      }),
      container('two', {}),
    ],
    volumes: [{ name: 'data', emptyDir: {} }],
  };
  const labels = { app: 'rich' };
  const isJob = kind === 'Job';
  return JSON.stringify({
    apiVersion: isJob ? 'batch/v1' : 'apps/v1',
    kind,
    metadata: { name: 'rich', labels: { ...labels, 'leafgate.dev/actor': 'yes' } },
    spec: {
      ...(isJob ? {} : { selector: { matchLabels: labels } }),
      ...(kind === 'StatefulSet' ? { serviceName: 'rich' } : {}),
      template: { metadata: { labels }, spec: own },
    },
  });
}

function container(name: string, more: object): object {
  return {
    ...{ name, image: 'example:1', ...more },
    securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
  };
}

const inert = JSON.stringify({
  ...{ apiVersion: 'apps/v1', kind: 'Deployment' },
  metadata: { name: 'other', labels: { app: 'other' } },
  spec: {
    selector: { matchLabels: { app: 'other' } },
    template: { metadata: { labels: { app: 'other' } }, spec: { containers: [container('one', {})] } },
  },
});

describeWithControlPlane('a workload that became an actor', { tools: ['kubectl'] }, (plane) => {
  const temp = createTempFolder();
  let admin: RawApi;
  beforeAll(async () => {
    admin = apiAs(plane(), plane().user('admin'));
    const namespace = onlyOne(ofKind(build(join(deployFolder, 'example/actor')), 'Namespace'), 'namespace');
    await admin.apply(apiPath(namespace), namespace, { query: 'fieldValidation=Strict' });
    cpSync(deployFolder, temp.file('deploy'), { recursive: true });
  });
  afterAll(() => {
    admin.close();
    temp.remove();
  });

  test('is taken as the example has it', async () => {
    for (const manifest of build(join(deployFolder, 'example/actor'))) await takes(manifest);
  });

  test.each(['Deployment', 'StatefulSet', 'DaemonSet', 'Job'])(
    'has all of its own besides, and each container the environment, as a %s',
    async (kind) => {
      const built = buildWith(richWorkload(kind));
      const [workload] = ofKind(built, kind).filter(({ metadata }) => metadata.name === 'rich') as Deployment[];
      if (workload === undefined) throw new Error(`no ${kind}`);
      await takes(workload);
      const { initContainers = [], containers, volumes } = workload.spec.template.spec;
      expect(initContainers.map(({ name }) => name)).toEqual(['leafgate-trust-first', 'leafgate-trust', 'prepare']);
      expect(volumes.map(({ name }) => name)).toContain('data');
      for (const each of [...containers, ...initContainers.slice(2)]) {
        const { OWN, ...env } = environmentOf(each);
        expect(env, each.name).toEqual(actorVariables);
        expect(OWN, each.name).toBe({ one: '2', prepare: '1' }[each.name]);
        expect(each.volumeMounts.map(({ name }) => name)).toEqual(
          expect.arrayContaining(['leafgate-trust', 'leafgate-client-settings']),
        );
      }
      expect(containers[0]?.volumeMounts).toContainEqual({ name: 'data', mountPath: '/data' });
      for (const { volumeMounts } of containers) {
        expect(volumeMounts.filter(({ name }) => name.startsWith('leafgate-')).every(({ readOnly }) => readOnly)).toBe(
          true,
        );
      }
      for (const ours of initContainers.slice(0, 2)) expect(environmentOf(ours)).toEqual({});
    },
  );

  test('is left alone without the label', () => {
    const [other] = ofKind(buildWith(inert), 'Deployment').filter(({ metadata }) => metadata.name === 'other');
    expect(other?.['spec']).toEqual((JSON.parse(inert) as Manifest)['spec']);
  });

  async function takes(manifest: Manifest): Promise<void> {
    const path = apiPath(manifest);
    const { status, text, headers } = await admin.apply(path, manifest, { query: 'dryRun=All&fieldValidation=Strict' });
    expect([200, 201], text).toContain(status);
    // pod security warns of a template that it would refuse
    expect(headers.warning).toBeUndefined();
  }

  function buildWith(workload: string): readonly Manifest[] {
    writeFileSync(temp.file('deploy/example/actor/workload.yaml'), workload);
    return build(temp.file('deploy/example/actor'));
  }

  function build(folder: string): readonly Manifest[] {
    return kubectlKustomize(findTool('kubectl').path ?? '', folder, temp.file('home'));
  }
});

function ofKind(manifests: readonly Manifest[], kind: string): readonly Manifest[] {
  return manifests.filter((one) => one.kind === kind);
}

function environmentOf({ env = [] }: Container): Readonly<Record<string, string>> {
  return Object.fromEntries(env.map(({ name, value }) => [name, value]));
}
