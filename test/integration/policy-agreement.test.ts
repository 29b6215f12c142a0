// A policy is written once and decided twice: Envoy's verdict equals `policy.decide`, whoever asks and whatever the
// spelling of a host (design decision 15). One Envoy; the policy is replaced by file while it runs, as in production.
import { writeFileSync } from 'node:fs';
import type { ConnectionOptions } from 'node:tls';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { policyDocument, outcomeName } from '../../src/bootstrap/policy-filter.ts';
import { policyFile, renderJson } from '../../src/bootstrap/rendered-files.ts';
import type { AccessLogLine } from '../../src/observe/access-log-line.ts';
import { createPolicyJudge } from '../../src/policy/policy-judge.ts';
import type { Policy } from '../../src/policy/policy-types.ts';
import { parseListenAddress } from '../../src/settings/parse-listen.ts';
import { caPem, issueCredential, makeCurrentCa } from '../support/credential-workshop.ts';
import { gatewaySpec } from '../support/gateway-spec.ts';
import { describeWithTools } from '../support/describe-with-tools.ts';
import { replaceRenderedFile, startGeneratedGateway, type GeneratedGateway } from '../support/generated-gateway.ts';
import { startNxdomainServer, type NxdomainServer } from '../support/nxdomain-server.ts';
import { randomPolicy, randomQuestion, type AskedPolicy } from '../support/random-policies.ts';
import { openTunnel } from '../support/open-tunnel.ts';
import { connectRequest, rawExchange, type RawAnswer } from '../support/raw-proxy-client.ts';
import { createTempFolder, type TempFolder } from '../support/temp-folder.ts';
import { waitFor } from '../support/wait-for.ts';
import { policy, rule } from '../unit/policy/policy-fixtures.ts';

const proxyName = 'proxy.test';
const actors = ['spiffe://a', 'spiffe://a/b', 'spiffe://a,spiffe://a/b', 'urn:X:y%20z'];
const vocabulary = {
  /** no name of it resolves (RFC 6761 6.4) */
  domain: 'invalid',
  /** no underscore: Envoy's HTTP/1 parser refuses it before any policy, see the last test */
  labels: ['a', 'b', 'x-1', 'xn--mnchen-3ya'],
  actors,
};

const markerHost = 'round.marker.invalid';

type Manner = 'clear request' | 'CONNECT';

const question = fc.tuple(randomQuestion(vocabulary), fc.constantFrom<Manner>('clear request', 'CONNECT'));

describeWithTools('Envoy and policy.decide', ['envoy-1.40.0'], ({ 'envoy-1.40.0': envoy }) => {
  const [proxyCa, clientCa] = [makeCurrentCa('proxies'), makeCurrentCa('clients')];
  const credentials = new Map(actors.map((uri) => [uri, issueCredential(clientCa, { uris: [uri] })]));
  let folder: TempFolder;
  let gateway: GeneratedGateway;
  let dns: NxdomainServer;
  let spec = gatewaySpec();
  beforeAll(async () => {
    folder = createTempFolder();
    dns = await startNxdomainServer();
    const serving = issueCredential(proxyCa, { dnsNames: [proxyName], purposes: ['server'] });
    writeFileSync(folder.file('tls.crt'), serving.certificatePem);
    writeFileSync(folder.file('tls.key'), serving.keyPem, { mode: 0o600 });
    writeFileSync(folder.file('clients.pem'), caPem(clientCa));
    spec = gatewaySpec(
      {
        listen: parseListenAddress('127.0.0.1:0'),
        dnsServers: [parseListenAddress(`127.0.0.1:${dns.port}`)],
        front: { listen: undefined, certificateDir: folder.path, clientCaFile: folder.file('clients.pem') },
      },
      folder.path,
    );
    gateway = await startGeneratedGateway(envoy, spec);
  });
  afterAll(async () => {
    await gateway.stop();
    await dns.close();
    folder.remove();
  });

  test('agree for random rules, hosts, ports and actors, by any case, dots, brackets and zeros', async () => {
    let round = 0;
    const run = fc.asyncProperty(
      randomPolicy(vocabulary, 8),
      fc.array(question, { minLength: 16, maxLength: 16 }),
      async (given, questions) => {
        round += 1;
        const inForce = withRound(given, round);
        replaceRenderedFile(spec, policyFile, renderJson(policyDocument(inForce)));
        await taken(round);
        const judge = createPolicyJudge(inForce);
        for (const [asked, manner] of questions) {
          const decided = judge.decide(asked);
          const outcome = await envoyOutcome(asked, manner);
          expect(outcome, `${manner} ${asked.authority}`).toBe(outcomeName(decided.verdict, decided.rule));
        }
      },
    );
    await fc.assert(run, { numRuns: 25, endOnFailure: true });
  }, 180_000);

  test('are not asked about a host with an underscore over HTTP/1, which Envoy cannot read, but over HTTP/2', async () => {
    replaceRenderedFile(spec, policyFile, renderJson(policyDocument(withRound(policy('relay'), 0))));
    await taken(0);
    for (const send of [connectRequest('a_b.invalid:443'), 'GET http://a_b.invalid/ HTTP/1.1\r\nHost: x\r\n\r\n']) {
      expect(await rawExchange({ port: gateway.port, send })).toMatchObject({ status: 400 });
    }
    const tunnel = openTunnel({ proxyPort: gateway.port, authority: 'a_b.invalid:443', protocol: 'HTTP/2' });
    (await tunnel).destroy();
    const isIts = ({ leg, text }: AccessLogLine): boolean => leg === 'connect' && text.host === 'a_b.invalid';
    expect((await gateway.lineOf('the tunnel', isIts)).text.rule).toBe('relay:default');
  });

  /** every policy has a rule of its own round, by which it is seen to be in force */
  function withRound({ rules, defaultVerdict }: Policy, number: number): Policy {
    const marker = rule(markerHost, 'deny', { name: `round-${number}` });
    return { defaultVerdict, rules: [...rules, marker] };
  }

  function taken(number: number): Promise<unknown> {
    const asked = { authority: markerHost, port: 80 };
    return waitFor(
      'the new policy',
      async () => (await envoyOutcome(asked, 'clear request')) === `deny:round-${number}`,
    );
  }

  /** a refusal names its rule in a header; what was allowed names it in the log */
  async function envoyOutcome(asked: Pick<AskedPolicy, 'authority' | 'actor'>, manner: Manner): Promise<unknown> {
    const { authority, actor } = asked;
    const tls = actor === undefined ? undefined : as(actor);
    // a CONNECT names its port
    if (manner === 'CONNECT' && /:\d+$/.test(authority)) return connectOutcome(authority, tls);
    const send = `GET http://${authority}/ HTTP/1.1\r\nHost: ignored.test\r\nConnection: close\r\n\r\n`;
    const answer = await rawExchange({ port: gateway.port, ...tls, send });
    const { error, id } = bodyOf(answer, authority);
    if (error === 'blocked_by_policy') return ruleOf(answer);
    return (await gateway.lineOf(authority, (line) => line.id === id)).text.rule;
  }

  async function connectOutcome(authority: string, tls: { readonly tls: ConnectionOptions } | undefined) {
    const askedAt = Date.now();
    const send = connectRequest(authority);
    const answer = await rawExchange({ port: gateway.port, ...tls, send, until: '\r\n\r\n' });
    if (ruleOf(answer) !== undefined) return ruleOf(answer);
    // Envoy takes one dot off before anything else; and the ends of earlier tunnels are logged late
    const shown = authority.replace(/\.(:\d+)$/, '$1');
    const line = await gateway.lineOf(`CONNECT ${authority}`, ({ leg, start, text }) => {
      return leg === 'connect' && text.connect === shown && Date.parse(start) >= askedAt;
    });
    return line.text.rule;
  }

  function as(actor: string): { readonly tls: ConnectionOptions } {
    const { certificatePem: cert, keyPem: key } = credentials.get(actor) ?? issueCredential(clientCa, {});
    return { tls: { ca: caPem(proxyCa), servername: proxyName, ALPNProtocols: ['http/1.1'], cert, key } };
  }
});

function bodyOf(
  { body, text, closed }: RawAnswer,
  authority: string,
): { readonly error?: string; readonly id?: string } {
  if (body === '') throw new Error(`${authority}: ${closed ? 'closed after ' : ''}${JSON.stringify(text)}`);
  return JSON.parse(body) as { error?: string; id?: string };
}

function ruleOf(answer: RawAnswer): string | undefined {
  return answer.headers['x-leafgate-rule'];
}
