// deploy/actor: what stands in it twice, in the code and in YAML, is the same; and what it adds to a workload is confined.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { clientFiles } from '../../../src/projection/client-files.ts';
import { parseBundleAllowlist } from '../../../src/settings/bundle-allowlist.ts';
import { parseTrustVolume } from '../../../src/settings/trust-volume.ts';
import {
  clientSettingsFolder,
  environmentValuesYaml,
  namedValues,
  replacementsYaml,
  trustFolder,
} from '../../support/actor-component.ts';
import { deployFolder, onlyOne, readManifests } from '../../support/shipped-manifests.ts';
import type { Deployment, Manifest } from '../../support/manifest-types.ts';

const folder = join(deployFolder, 'actor');
const settings = dataOf(join(folder, 'settings.yaml'));
const names = dataOf(join(deployFolder, 'example/actor/names.yaml'));

function dataOf(path: string): Readonly<Record<string, string>> {
  return onlyOne(readManifests(path), path)['data'] as Record<string, string>;
}

describe('the environment of actors', () => {
  test.each([
    ['environment/containers.yaml', replacementsYaml],
    ['environment/values.yaml', environmentValuesYaml],
  ])('in %s is what the table of runtimes says', async (name, render) => {
    await expect(render()).toMatchFileSnapshot(join(folder, name));
  });

  test('has what depends on the gateway in the names of the installation', () => {
    expect(names).toMatchObject(namedValues());
  });

  test('and the gateway there is that of the other names', () => {
    const { namespace, gateway, signer } = dataOf(join(deployFolder, 'example/names/names.yaml'));
    expect(names).toMatchObject({ signer, gateway, proxy: `http://${gateway}.${namespace}.svc:3128` });
  });
});

describe('the settings of actors', () => {
  test('ask for the files that the environment names, in the forms that it needs', () => {
    const volume = parseTrustVolume(Buffer.from(settings['volume.yaml'] ?? ''), 'volume.yaml');
    expect(volume).toMatchObject({
      kind: 'read',
      value: {
        sources: [
          { path: 'ca.pem', form: 'PEM', names: ['egress-mitm'] },
          { path: 'ca-and-system.pem', form: 'PEM', names: ['egress-mitm', 'system-roots'] },
          { path: 'ca-and-system.p12', form: 'PKCS12', names: ['egress-mitm', 'system-roots'] },
        ],
      },
    });
  });

  test('take the anchors from the file of the kubelet, so that nobody needs a token', () => {
    const list = parseBundleAllowlist(Buffer.from(settings['bundles.yaml'] ?? ''), 'bundles.yaml');
    expect(list).toMatchObject({ kind: 'read' });
    if (list.kind !== 'read') return;
    expect([...list.value]).toEqual([
      ['egress-mitm', { kind: 'file', path: '/run/leafgate/source/ca.pem' }],
      ['system-roots', { kind: 'system-roots' }],
    ]);
  });

  test('have the files of clients that read no variable, as on a laptop', () => {
    for (const { name, text } of clientFiles(`${trustFolder}/ca-and-system.pem`)) {
      expect(settings[name.replace('php/', '')], name).toBe(text);
    }
  });
});

describe('the containers of leafgate in a workload', () => {
  const patch = parse(readFileSync(join(folder, 'workload.yaml'), 'utf8'), { merge: true }) as Deployment & Manifest;
  const { initContainers = [], volumes } = patch.spec.template.spec;

  test('are two, the first of which ends when the files are there', () => {
    expect(
      initContainers.map(({ name, restartPolicy, args }) => [name, restartPolicy, args.includes('--once')]),
    ).toEqual([
      ['leafgate-trust-first', undefined, true],
      ['leafgate-trust', 'Always', false],
    ]);
    const [first, second] = initContainers.map(({ args }) => args.filter((word) => word !== '--once'));
    expect(first).toEqual(second);
  });

  test('have the image of the package, and no environment of an actor', () => {
    const { version } = JSON.parse(readFileSync(join(deployFolder, '../package.json'), 'utf8')) as { version: string };
    for (const container of initContainers) {
      expect(container.image).toBe(`leafgate:${version}`);
      expect(container).toHaveProperty('env', null);
    }
  });

  test('gain nothing, and write into the trust folder alone', () => {
    for (const { securityContext, volumeMounts, resources } of initContainers) {
      expect(securityContext).toEqual({
        ...{ runAsNonRoot: true, runAsUser: 65532, runAsGroup: 65532 },
        ...{ allowPrivilegeEscalation: false, readOnlyRootFilesystem: true },
        capabilities: { drop: ['ALL'] },
        seccompProfile: { type: 'RuntimeDefault' },
      });
      const writable = volumeMounts.filter((mount) => 'mountPath' in mount && mount.readOnly !== true);
      expect(writable.map(({ name, mountPath }) => [name, mountPath])).toEqual([['leafgate-trust', trustFolder]]);
      expect(resources.limits.memory).toBe('128Mi');
    }
  });

  test('need no token: the anchors are mounted by the kubelet, by signer and labels, and must be there', () => {
    expect(JSON.stringify(volumes)).not.toContain('serviceAccountToken');
    const source = volumes.find(({ name }) => name === 'leafgate-source')?.projected?.sources;
    expect(source).toEqual([
      {
        clusterTrustBundle: {
          signerName: names['signer'],
          labelSelector: { matchLabels: { 'app.kubernetes.io/instance': names['gateway'] } },
          path: 'ca.pem',
        },
      },
    ]);
  });

  test('find their settings where they are told to, as the clients do', () => {
    const mounted = initContainers[0]?.volumeMounts.map(({ mountPath }) => mountPath);
    expect(mounted).toContain('/etc/leafgate/actor');
    const client = volumes.find(({ name }) => name === 'leafgate-client-settings')?.configMap as object;
    expect(client).toMatchObject({ items: [{ path: 'wgetrc' }, { path: 'apt.conf' }, { path: 'php/php.ini' }] });
    expect(environmentValuesYaml()).toContain(`${clientSettingsFolder}/wgetrc`);
  });
});
