// A Deployment is one gateway's: with two they would roll its pods in turn, for ever.
import { describe, expect, test } from 'vitest';
import { earlierClaim, mountsConfigMap } from '../../../src/controller/deployment-claim.ts';
import type { KubeObject } from '../../../src/kube/kube-types.ts';

function gateway(name: string, minute: number, deploymentName?: unknown, namespace = 'agents'): KubeObject {
  return {
    apiVersion: 'leafgate.dev/v1alpha1',
    kind: 'EgressGateway',
    metadata: { name, namespace, uid: `${namespace}/${name}`, creationTimestamp: `2026-01-01T00:0${minute}:00Z` },
    ...(deploymentName === undefined ? {} : { spec: { deploymentName } }),
  };
}

describe('a Deployment', () => {
  const first = gateway('a', 1, 'egress');
  test.each<[string, KubeObject, readonly KubeObject[], string | undefined]>([
    ['is its gateway’s where no other names it', first, [first, gateway('b', 0)], undefined],
    ['is that of the gateway that was made first', gateway('b', 2, 'egress'), [first], 'a'],
    ['is the first one’s also when others want it', first, [gateway('b', 2, 'egress')], undefined],
    ['is that of the first of all', gateway('c', 3, 'egress'), [gateway('b', 2, 'egress'), first], 'a'],
    ['is decided by name within a second', gateway('b', 1, 'egress'), [first], 'a'],
    ['is named like its gateway where nothing is said', gateway('b', 2, 'a'), [gateway('a', 1)], 'a'],
    ['is another in another namespace', gateway('b', 2, 'egress', 'ci'), [first], undefined],
    ['is named by what is a name', gateway('b', 2), [gateway('a', 1, 3)], undefined],
  ])('%s', (_title, subject, others, owner) => {
    expect(earlierClaim(subject, [subject, ...others])).toBe(owner);
  });
});

describe('the files of a gateway', () => {
  const deployment = (volumes: unknown): KubeObject => ({
    ...{ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'gw' } },
    spec: { template: { spec: { volumes } } },
  });
  test.each<[string, unknown, boolean]>([
    ['are mounted as a volume', [{ emptyDir: {} }, { configMap: { name: 'gw-envoy' } }], true],
    [
      'are mounted among others',
      [{ projected: { sources: [{ secret: {} }, { configMap: { name: 'gw-envoy' } }] } }],
      true,
    ],
    [
      'are not those of another',
      [{ configMap: { name: 'gw-envoy-2' } }, { secret: { secretName: 'gw-envoy' } }],
      false,
    ],
    ['are not mounted where nothing is', undefined, false],
    ['are not mounted by what is no list', { configMap: { name: 'gw-envoy' } }, false],
    ['are not mounted by what is no volume', [null, 'gw-envoy', { projected: { sources: 'gw-envoy' } }], false],
  ])('%s', (_title, volumes, isMounted) => {
    expect(mountsConfigMap(deployment(volumes), 'gw-envoy')).toBe(isMounted);
  });
});
