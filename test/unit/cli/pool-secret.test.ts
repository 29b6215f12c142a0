// `leafgate pool … --secret`, against a scripted API server that keeps one Secret.
import { createPublicKey, X509Certificate } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { runCommandLine } from '../../../src/cli/command-line.ts';
import { exitCodes } from '../../../src/errors.ts';
import { createFakeIo } from '../../support/fake-io.ts';
import { sayJson, sayStatus, startScriptedApiServer } from '../../support/scripted-api-server.ts';
import type { ScriptedApiServer } from '../../support/scripted-api-server.ts';
import { createTempFolder } from '../../support/temp-folder.ts';
import type { TempFolder } from '../../support/temp-folder.ts';
import { createTestAuthority, issueServerCertificate } from '../../support/test-certificates.ts';

type Stored = { readonly type: string; readonly data: Readonly<Record<string, string>>; readonly metadata: object };

let server: ScriptedApiServer;
let folder: TempFolder;
let stored: Stored | undefined;

beforeEach(async () => {
  const authority = createTestAuthority();
  folder = createTempFolder();
  stored = undefined;
  server = await startScriptedApiServer({
    certificate: issueServerCertificate(authority, { names: ['localhost'] }),
    script: ({ method, body }, response) => {
      const details = { name: 'egress-ca-pool', kind: 'secrets' };
      if (method === 'POST' && stored !== undefined) {
        sayStatus(response, 409, { reason: 'AlreadyExists', message: 'secrets "egress-ca-pool" already exists' });
      } else if (method === 'POST') {
        stored = JSON.parse(body) as Stored;
        sayJson(response, 201, stored);
      } else if (stored === undefined) sayStatus(response, 404, { reason: 'NotFound', details });
      else sayJson(response, 200, stored);
    },
  });
  const kubeconfig = {
    'current-context': 'test',
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
    clusters: [
      {
        name: 'test',
        cluster: {
          server: server.url,
          'certificate-authority-data': Buffer.from(authority.pem).toString('base64'),
        },
      },
    ],
    users: [{ name: 'test', user: { token: 'token-of-the-test' } }],
  };
  writeFileSync(folder.file('kubeconfig'), JSON.stringify(kubeconfig));
});
afterEach(async () => {
  await server.close();
  folder.remove();
});

async function leafgate(command: string, ...more: readonly string[]) {
  const terminal = createFakeIo({ HOME: folder.path });
  const args = [
    'pool',
    command,
    '--secret',
    'agents/egress-ca-pool',
    '--kubeconfig',
    folder.file('kubeconfig'),
    ...more,
  ];
  const code = await runCommandLine(args, terminal.io);
  return { code, out: terminal.stdout(), err: terminal.stderr() };
}

const decoded = (key: string): string => Buffer.from(stored?.data[key] ?? '', 'base64').toString();

describe('a pool in a Secret', () => {
  test('is made in one request with all three keys, which belong together, and shown without any key', async () => {
    const { code, out, err } = await leafgate('create');
    expect(code).toBe(exitCodes.ok);
    expect(server.calls.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'POST /api/v1/namespaces/agents/secrets',
    ]);
    expect(stored).toMatchObject({
      type: 'kubernetes.io/tls',
      metadata: { name: 'egress-ca-pool', namespace: 'agents' },
    });
    expect(Object.keys(stored?.data ?? {})).toEqual(['pool', 'tls.crt', 'tls.key']);
    const certificate = new X509Certificate(decoded('tls.crt'));
    expect(createPublicKey(decoded('tls.key')).equals(certificate.publicKey)).toBe(true);
    const [ca] = (JSON.parse(decoded('pool')) as { CAs: { RootCertificateDER: string; SigningKeyPKCS8: string }[] })
      .CAs;
    expect(certificate.raw.toString('base64')).toBe(ca?.RootCertificateDER);
    expect(out).toContain('made the Secret agents/egress-ca-pool');
    expect(out + err).not.toMatch(/PRIVATE KEY|token-of-the-test/);
    expect(out + err).not.toContain(ca?.SigningKeyPKCS8);
  });

  test('is never replaced', async () => {
    await leafgate('create');
    const before = stored;
    const { code, err } = await leafgate('create');
    expect(code).toBe(exitCodes.usage);
    expect(err).toContain('the Secret agents/egress-ca-pool exists already');
    expect(stored).toBe(before);
  });

  test('is inspected and verified like a file', async () => {
    await leafgate('create');
    const inspected = await leafgate('inspect', '--json');
    expect(JSON.parse(inspected.out)).toMatchObject({ cas: [{ isActive: true }], faults: [] });
    const verified = await leafgate('verify', '--json');
    expect(JSON.parse(verified.out)).toEqual({ secret: 'agents/egress-ca-pool', ok: true, faults: [] });
    expect(verified.code).toBe(exitCodes.ok);
  });

  test('that is not there, or has no pool in it, is named', async () => {
    expect(await leafgate('inspect')).toMatchObject({
      code: exitCodes.usage,
      err: expect.stringContaining('there is no Secret agents/egress-ca-pool'),
    });
    stored = {
      type: 'kubernetes.io/tls',
      metadata: { name: 'egress-ca-pool' },
      data: { 'tls.crt': '', 'tls.key': '' },
    };
    expect(await leafgate('verify')).toMatchObject({
      code: exitCodes.usage,
      err: expect.stringContaining('has nothing in its key "pool"'),
    });
    stored = { ...stored, data: { pool: Buffer.from('{}').toString('base64') } };
    expect(await leafgate('verify')).toMatchObject({
      code: exitCodes.negative,
      err: expect.stringContaining('Secret agents/'),
    });
  });

  test('is refused with the API server’s own words', async () => {
    server.play((_, response) =>
      sayStatus(response, 403, { reason: 'Forbidden', message: 'secrets is forbidden: no rule' }),
    );
    expect(await leafgate('create')).toMatchObject({
      code: exitCodes.failed,
      err: expect.stringContaining('create secrets "agents/egress-ca-pool": secrets is forbidden: no rule'),
    });
  });

  test.each(['', 'b', 'a/', '/b', 'a/b/c', 'A/b', 'a/b..c', 'a.b/c', '../b', `a/${'b'.repeat(254)}`])(
    'has a name that a cluster could have, unlike "%s"',
    async (name) => {
      const terminal = createFakeIo({ HOME: folder.path });
      expect(await runCommandLine(['pool', 'inspect', '--secret', name], terminal.io)).toBe(exitCodes.usage);
      expect(terminal.stderr()).toContain('[secret-name-invalid]');
    },
  );

  test('needs a way to Kubernetes', async () => {
    const terminal = createFakeIo({ HOME: folder.path });
    const code = await runCommandLine(['pool', 'inspect', '--secret', 'a/b'], terminal.io);
    expect(code).toBe(exitCodes.usage);
    expect(terminal.stderr()).toContain('[kube-access-missing]');
  });
});
