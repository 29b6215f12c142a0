// `leafgate pool create --secret` as a user with exactly the right that it needs, on a real API server.
import { expect, test } from 'vitest';
import { runCommandLine } from '../../src/cli/command-line.ts';
import { exitCodes } from '../../src/errors.ts';
import { describeWithControlPlane } from '../support/cluster/describe-with-control-plane.ts';
import { apiAs, mustSucceed } from '../support/cluster/raw-api.ts';
import { createNamespace, createServiceAccount } from '../support/cluster/service-account.ts';
import { createFakeIo } from '../support/fake-io.ts';

describeWithControlPlane('a pool in a Secret of a real cluster', {}, (plane) => {
  test('is made with the right to create alone, read with the right to get, and never replaced', async () => {
    const namespace = await createNamespace(plane());
    const account = (name: string, verb: string) =>
      createServiceAccount(
        plane(),
        { namespace, name },
        { namespaced: { [namespace]: [{ apiGroups: [''], resources: ['secrets'], verbs: [verb] }] } },
      );
    const [maker, reader] = [await account('maker', 'create'), await account('reader', 'get')];
    const leafgate = async (command: string, kubeconfig: string) => {
      const terminal = createFakeIo({ HOME: '/nowhere' });
      const args = ['pool', command, '--secret', `${namespace}/egress-ca-pool`, '--kubeconfig', kubeconfig];
      const code = await runCommandLine(args, terminal.io);
      return { code, out: terminal.stdout(), err: terminal.stderr() };
    };
    expect(await leafgate('create', reader.kubeconfigFile)).toMatchObject({
      code: exitCodes.failed,
      err: expect.stringContaining('cannot create resource "secrets"'),
    });
    expect(await leafgate('create', maker.kubeconfigFile)).toMatchObject({ code: exitCodes.ok, err: '' });
    expect(await leafgate('create', maker.kubeconfigFile)).toMatchObject({
      code: exitCodes.usage,
      err: expect.stringContaining('exists already'),
    });
    expect(await leafgate('verify', reader.kubeconfigFile)).toMatchObject({ code: exitCodes.ok });
    expect((await leafgate('inspect', reader.kubeconfigFile)).out).toContain('(signs)');
    const admin = apiAs(plane(), plane().user('admin'));
    const secret = mustSucceed(await admin.get(`/api/v1/namespaces/${namespace}/secrets/egress-ca-pool`));
    expect([secret['type'], Object.keys(secret['data'] as object).sort()]).toEqual([
      'kubernetes.io/tls',
      ['pool', 'tls.crt', 'tls.key'],
    ]);
    admin.close();
  });
});
