// The commands of docs/kubernetes.md that make the Secrets by openssl alone, run as they are printed. What they would send is
// judged as the controller judges it.
import { chmodSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { minutes, systemClock } from '../../src/clock.ts';
import type { SecretContent } from '../../src/controller/controller-types.ts';
import { judgePool } from '../../src/controller/judge-pool.ts';
import { judgeServingSecret } from '../../src/controller/judge-serving-secret.ts';
import { requiredDnsNames } from '../../src/controller/required-dns-names.ts';
import { SecretBytes } from '../../src/secret-bytes.ts';
import { describeWithTools } from '../support/describe-with-tools.ts';
import { runCommand } from '../support/run-command.ts';
import { scrubbedEnvironment } from '../support/scrubbed-environment.ts';
import { shippedManifest } from '../support/shipped-manifests.ts';
import { createTempFolder, type TempFolder } from '../support/temp-folder.ts';

const page = readFileSync(new URL('../../docs/kubernetes.md', import.meta.url), 'utf8');
const standIn = new URL('../support/kubectl-stand-in.mjs', import.meta.url).pathname;
const [byOpenssl = ''] = /### By openssl alone\n[^]*?(?=\n### )/.exec(page) ?? [];
const commands = [...byOpenssl.matchAll(/```sh\n([^]*?)```/g)].map(([, text = '']) => text);

describeWithTools('the Secrets that docs/kubernetes.md makes by openssl', ['openssl'], () => {
  let temp: TempFolder;
  const { metadata, spec } = shippedManifest('gateway', 'EgressGateway');
  const now = () => systemClock.now();

  beforeAll(async () => {
    temp = createTempFolder();
    for (const folder of ['bin', 'work']) mkdirSync(temp.file(folder));
    writeFileSync(temp.file('bin/kubectl'), `#!/bin/sh\nexec "${process.execPath}" "${standIn}" "$@"\n`);
    chmodSync(temp.file('bin/kubectl'), 0o755);
    const { PATH = '', ...env } = scrubbedEnvironment(temp.path);
    for (const text of commands) {
      const options = { env: { ...env, PATH: `${temp.file('bin')}:${PATH}` }, cwd: temp.file('work') };
      const { status, stderr } = await runCommand('/bin/sh', ['-euc', text], options);
      if (status !== 0) throw new Error(`exit code ${String(status)} of\n${text}\n${stderr}`);
    }
  });
  afterAll(() => temp.remove());

  function sent(name: string): SecretContent {
    const secret = JSON.parse(readFileSync(temp.file(`${name}.json`), 'utf8')) as {
      readonly type: string;
      readonly metadata: { readonly namespace: string };
      readonly data: Readonly<Record<string, string>>;
    };
    const data = Object.entries(secret.data).map(([key, text]) => [key, new SecretBytes(Buffer.from(text, 'base64'))]);
    const { namespace } = secret.metadata;
    return { name, namespace, type: secret.type, data: Object.fromEntries(data) as SecretContent['data'] };
  }

  test('are a pool whose CA signs and is published, with all three keys', () => {
    const name = spec.caPool.secretName;
    const value = sent(name);
    expect(value).toMatchObject({ namespace: metadata.namespace, type: 'kubernetes.io/tls' });
    expect(Object.keys(value.data)).toEqual(['pool', 'tls.crt', 'tls.key']);
    const secret = { namespace: metadata.namespace, name };
    const terms = { secret, now: now(), allowEd25519: false, shortestLeafMs: minutes(2) };
    const judged = judgePool({ kind: 'found', value }, terms);
    expect(judged.judgement).toMatchObject({ status: 'True', reason: 'Ready' });
    expect(judged).toMatchObject({ isPublishable: true, activeId: 'ca-1' });
  });

  test('are a certificate of the proxy for each name that it must have', () => {
    const name = spec.servingTLS.secretName;
    const names = requiredDnsNames(metadata.name, metadata.namespace, 'cluster.local');
    const secret = { namespace: metadata.namespace, name };
    const { judgement } = judgeServingSecret(
      { kind: 'found', value: sent(name) },
      { secret, requiredDnsNames: names, now: now() },
    );
    expect(judgement).toMatchObject({ status: 'True', reason: 'TLSSecretReady' });
  });

  test('leave no key behind but that of the CA that signs the next certificate', () => {
    const keys = readdirSync(temp.file('work')).filter((name) => /\.key$|pool/.test(name));
    expect(keys).toEqual(['serving-ca.key']);
  });
});
