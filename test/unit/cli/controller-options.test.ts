import { expect, test } from 'vitest';
import { readControllerOptions } from '../../../src/cli/controller-options.ts';
import { LeafgateError } from '../../../src/errors.ts';
import type { SettingSource } from '../../../src/settings/read-settings.ts';

type Flags = Readonly<Record<string, string | readonly string[] | boolean>>;

const source = (flags: Flags, environment: Readonly<Record<string, string>> = {}): SettingSource => ({
  flag: (name) => flags[name],
  environment,
});
const enough = { namespace: ['egress'], signer: ['egress=egress.example.com/*'] };

function problemsOf(flags: Flags): readonly string[] {
  try {
    readControllerOptions({}, source(flags));
    return [];
  } catch (thrown) {
    const error = LeafgateError.from(thrown);
    return (error.problems.length > 0 ? error.problems : [error]).map(({ code }) => code);
  }
}

test('a namespace and a signer are enough, and the rest has its defaults', () => {
  expect(readControllerOptions({}, source(enough))).toEqual({
    namespaces: ['egress'],
    signers: [{ namespace: 'egress', domain: 'egress.example.com', path: undefined }],
    clusterDomain: 'cluster.local',
    kubeconfigFile: undefined,
    health: undefined,
    leaseName: 'leafgate-controller',
    leaseNamespace: undefined,
    resyncMs: 600_000,
    json: false,
    isRelease: false,
  });
});

test('namespaces and signers come from the environment too, separated by commas', () => {
  const environment = {
    LEAFGATE_NAMESPACE: 'team-a,team-b',
    LEAFGATE_SIGNER: 'team-a=a.example.com/*, team-b=b.example.com/mitm',
  };
  expect(readControllerOptions({}, source({}, environment))).toMatchObject({
    namespaces: ['team-a', 'team-b'],
    signers: [
      { namespace: 'team-a', domain: 'a.example.com' },
      { namespace: 'team-b', domain: 'b.example.com', path: 'mitm' },
    ],
  });
});

test('health may be served on any address, since a kubelet asks from outside the pod', () => {
  const { health } = readControllerOptions({}, source({ ...enough, metrics: '0.0.0.0:8081' }));
  expect(health).toEqual({ kind: 'tcp', address: '0.0.0.0', port: 8081 });
});

test('--release needs no signer', () => {
  expect(readControllerOptions({ release: true }, source({ namespace: ['egress'] })).isRelease).toBe(true);
});

test.each([
  [{}, ['controller-option-missing', 'controller-option-missing']],
  [{ namespace: ['egress'] }, ['controller-option-missing']],
  [{ ...enough, namespace: ['Egress'] }, ['setting-malformed', 'controller-signer-elsewhere']],
  [{ ...enough, signer: ['other=egress.example.com/*'] }, ['controller-signer-elsewhere']],
  [{ ...enough, signer: ['egress.example.com/*'] }, ['setting-malformed']],
  [{ ...enough, signer: ['egress=egress.example.com'] }, ['setting-malformed']],
  [{ ...enough, signer: ['egress=*/*'] }, ['setting-malformed']],
  [{ ...enough, signer: ['egress=egress.example.com/a*'] }, ['setting-malformed']],
  [{ ...enough, signer: ['egress=kubernetes.io/kube-apiserver-serving'] }, ['setting-malformed']],
  [
    { ...enough, resync: '1ms', 'lease-name': 'A', 'lease-namespace': 'a.b' },
    ['setting-out-of-range', 'setting-malformed', 'setting-malformed'],
  ],
] as const)('%j is refused with %j, all problems at once', (flags, codes) => {
  expect(problemsOf(flags)).toEqual(codes);
});
