// Real clients behind `leafgate up`, started by `leafgate run` with nothing of their own: each reaches an origin whose CA it
// does not know, which it can only do by a leaf of the gateway's; and each fails when it has the proxy but not the trust.
import { writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeWithTools } from '../support/describe-with-tools.ts';
import { environment, runLeafgate, startGatewayUnderTest } from '../support/gateway-under-test.ts';
import type { GatewayUnderTest } from '../support/gateway-under-test.ts';
import { createGitRepository, serveFolder } from '../support/git-repository.ts';
import { runCommand } from '../support/run-command.ts';
import type { CommandResult } from '../support/run-command.ts';
import { createTempFolder } from '../support/temp-folder.ts';
import { createTestAuthority, issueServerCertificate } from '../support/test-certificates.ts';
import { startTlsOrigin } from '../support/tls-origin.ts';
import type { TlsOrigin } from '../support/tls-origin.ts';
import type { ToolName } from '../support/tools.ts';

const originName = 'origin.clients.test';

type Client = {
  readonly name: string;
  readonly tool: ToolName | 'node';
  /** the command that writes the body of `url` to stdout */
  readonly fetch: (path: string, url: string) => readonly string[];
  /** what it says of a certificate that it does not trust */
  readonly distrust: RegExp;
};

const requestsCode = 'import requests, sys; print(requests.get(sys.argv[1], timeout=15).text)';
const httpxCode = 'import httpx, sys; print(httpx.get(sys.argv[1], timeout=15).text)';
const urllibCode = 'import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1], timeout=15).read().decode())';
const fetchCode = 'process.stdout.write(await (await fetch(process.argv[1])).text())';

const clients: readonly Client[] = [
  { name: 'curl', tool: 'curl', fetch: (path, url) => [path, '-sS', url], distrust: /unable to get local issuer/ },
  {
    name: 'wget',
    tool: 'wget',
    fetch: (path, url) => [path, '-nv', '-t', '1', '-O', '-', url],
    distrust: /cannot verify|not trusted/,
  },
  {
    name: 'Python requests',
    tool: 'python',
    fetch: (path, url) => [path, '-c', requestsCode, url],
    distrust: /CERTIFICATE_VERIFY_FAILED/,
  },
  {
    name: 'Python httpx',
    tool: 'python',
    fetch: (path, url) => [path, '-c', httpxCode, url],
    distrust: /CERTIFICATE_VERIFY_FAILED/,
  },
  {
    name: 'Python urllib',
    tool: 'python',
    fetch: (path, url) => [path, '-c', urllibCode, url],
    distrust: /CERTIFICATE_VERIFY_FAILED/,
  },
  {
    name: 'Node 24 fetch',
    tool: 'node',
    fetch: (path, url) => [path, '--input-type=module', '-e', fetchCode, url],
    distrust: /UNABLE_TO_GET_ISSUER_CERT_LOCALLY|UNABLE_TO_VERIFY_LEAF_SIGNATURE/,
  },
  {
    name: 'Go net/http',
    tool: 'fetch-peer',
    fetch: (path, url) => [path, url],
    distrust: /certificate signed by unknown authority/,
  },
];

const needed = ['envoy-1.40.0', 'curl', 'wget', 'git', 'python', 'fetch-peer'] as const;

describeWithTools('clients behind the gateway', needed, (tools) => {
  const temp = createTempFolder();
  const envoy = tools['envoy-1.40.0'];
  const paths: { readonly [name: string]: string } = { ...tools, node: process.execPath };
  let gateway: GatewayUnderTest;
  let origin: TlsOrigin;
  const url = (path: string): string => `https://${originName}:${origin.port}${path}`;

  beforeAll(async () => {
    const authority = createTestAuthority();
    writeFileSync(temp.file('origin-ca.pem'), authority.pem);
    await createGitRepository(tools.git, temp, 'project.git');
    origin = await startTlsOrigin({
      certificate: issueServerCertificate(authority, { names: [originName] }),
      answer: (request, response) => {
        if (!serveFolder(temp.path, request, response)) response.end(`seen ${request.url ?? ''}`);
      },
    });
    gateway = await startGatewayUnderTest({
      ...{ envoy, temp },
      args: [
        ...['--origin-ca', temp.file('origin-ca.pem'), '--allow-destination', '127.0.0.0/8'],
        ...['--resolve', `${originName}:${origin.port}:127.0.0.1`],
      ],
    });
  });

  afterAll(async () => {
    await gateway.stop();
    await origin.close();
    temp.remove();
  });

  const throughGateway = (words: readonly string[]): Promise<CommandResult> =>
    runLeafgate(['run', '--state', gateway.state, '--', ...words], { envoy, temp });

  /** the proxy variables of `leafgate run` without its trust variables */
  const withProxyOnly = ([command = '', ...args]: readonly string[]): Promise<CommandResult> => {
    const { proxyUrl } = gateway;
    const proxy = { HTTPS_PROXY: proxyUrl, https_proxy: proxyUrl, NODE_USE_ENV_PROXY: '1' };
    return runCommand(command, args, { env: environment({ envoy, temp, env: proxy }), cwd: temp.path });
  };

  test.each(clients)('$name reaches the origin by a leaf of the gateway', async ({ name, tool, fetch }) => {
    const path = `/${encodeURIComponent(name)}`;
    const { status, stdout, stderr } = await throughGateway(fetch(paths[tool] ?? '', url(path)));
    expect({ status, stderr }).toMatchObject({ status: 0 });
    expect(stdout).toContain(`seen ${path}`);
    const record = await gateway.recordOf(name, (one) => one.path === path);
    expect(record).toMatchObject({ decision: 'intercept', outcome: 'ok', host: originName, status: 200 });
    expect(record.leafSerial).toMatch(/^[0-9a-f]{32}$/);
  });

  test.each(clients)('$name without the trust refuses that leaf', async ({ tool, fetch, distrust }) => {
    const before = origin.seen.requests;
    const { status, stdout, stderr } = await withProxyOnly(fetch(paths[tool] ?? '', url('/distrusted')));
    expect(status).not.toBe(0);
    expect(`${stdout}${stderr}`).toMatch(distrust);
    expect(origin.seen.requests).toBe(before);
  });

  test('Go names the gateway as the issuer of what it was shown', async () => {
    const { stdout } = await throughGateway([tools['fetch-peer'], url('/issuer')]);
    expect((JSON.parse(stdout) as { issuer: string }).issuer).toMatch(/leafgate CA/);
  });

  test('git clones through the gateway', async () => {
    const clone = [tools.git, 'clone', '--quiet', url('/project.git'), temp.file('clone')];
    const { status, stderr } = await throughGateway(clone);
    expect({ status, stderr }).toMatchObject({ status: 0 });
    const { stdout } = await runCommand(tools.git, ['-C', temp.file('clone'), 'log', '--format=%s'], {
      env: environment({ envoy, temp }),
    });
    expect(stdout).toBe('the only commit\n');
  });

  test('git without the trust refuses', async () => {
    const { status, stderr } = await withProxyOnly([tools.git, 'ls-remote', url('/project.git')]);
    expect(status).not.toBe(0);
    expect(stderr).toMatch(/certificate verification failed|certificate signer not trusted/i);
  });
});
