// A policy is written once and decided twice: Envoy's verdict equals `policy.decide`, whatever the spelling of a host, for
// every actor, with and without a CONNECT (design decision 15). One Envoy; the policy is replaced by file while it runs,
// as in production.
import { writeFileSync } from 'node:fs';
import type { ConnectionOptions } from 'node:tls';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { policyDocument, outcomeName } from '../../src/bootstrap/policy-filter.ts';
import { policyFile, renderJson } from '../../src/bootstrap/rendered-files.ts';
import { createPolicyJudge } from '../../src/policy/policy-judge.ts';
import type { Policy } from '../../src/policy/policy-types.ts';
import { parseListenAddress } from '../../src/settings/parse-listen.ts';
import type { AccessLogLine } from '../../src/observe/access-log-line.ts';
import { caPem, issueCredential, makeCurrentCa } from '../support/credential-workshop.ts';
import { gatewaySpec } from '../support/gateway-spec.ts';
import { describeWithTools } from '../support/describe-with-tools.ts';
import { replaceRenderedFile, startGeneratedGateway, type GeneratedGateway } from '../support/generated-gateway.ts';
import { startNxdomainServer, type NxdomainServer } from '../support/nxdomain-server.ts';
import { connectRequest, rawExchange } from '../support/raw-proxy-client.ts';
import { createTempFolder, type TempFolder } from '../support/temp-folder.ts';
import { waitFor } from '../support/wait-for.ts';
import { host, policy, rule } from '../unit/policy/policy-fixtures.ts';

const names = ['x.invalid', 'a.x.invalid', 'b.a.x.invalid', 'y.invalid', '10.0.0.1', '10.1.0.1', '[fd00::1]'];
const targets = [
  ...['x.invalid', 'a.x.invalid', '*.x.invalid', '*.a.x.invalid', '*.invalid', '10.0.0.1', 'fd00::1'],
  ...['10.0.0.0/8', '10.0.0.0/24', '0.0.0.0/0', 'fd00::/64'],
];
const ports = [80, 443];
const actors = ['spiffe://test/a', 'spiffe://test/b'];
const proxyName = 'proxy.test';

const verdict = fc.constantFrom('intercept', 'relay', 'tcp', 'deny');
const someRules = fc.array(fc.tuple(fc.constantFrom(...targets), verdict, fc.subarray(ports), fc.subarray(actors)), {
  maxLength: 8,
});

type Question = {
  readonly name: string;
  readonly port: number | undefined;
  readonly spelling: string;
  /** undefined: no certificate */
  readonly actor: string | undefined;
  readonly isTunnel: boolean;
};

const question: fc.Arbitrary<Question> = fc
  .record({
    name: fc.constantFrom(...names),
    port: fc.option(fc.constantFrom(...ports, 8080), { nil: undefined }),
    isUpper: fc.boolean(),
    dots: fc.constantFrom('', '.', '..', '...'),
    zeros: fc.constantFrom('', '0', '00'),
    actor: fc.constantFrom(undefined, ...actors),
    isTunnel: fc.boolean(),
  })
  .map(({ name, port: given, isUpper, dots, zeros, ...more }) => {
    // Envoy answers a CONNECT without a port with 400 before any rule (RFC 9110 9.3.6)
    const port = more.isTunnel ? (given ?? 80) : given;
    const spelled = `${isUpper ? name.toUpperCase() : name}${name.startsWith('[') ? '' : dots}`;
    return { name, port, spelling: port === undefined ? spelled : `${spelled}:${zeros}${port}`, ...more };
  });

describeWithTools('Envoy and policy.decide', ['envoy-1.40.0'], ({ 'envoy-1.40.0': envoy }) => {
  let folder: TempFolder;
  let gateway: GeneratedGateway;
  let dns: NxdomainServer;
  let spec = gatewaySpec();
  const [proxyCa, clientCa] = [makeCurrentCa('proxies'), makeCurrentCa('clients')];
  const certificates = new Map(actors.map((actor) => [actor, issueCredential(clientCa, { uris: [actor] })]));
  beforeAll(async () => {
    folder = createTempFolder();
    dns = await startNxdomainServer();
    const dnsServers = [parseListenAddress(`127.0.0.1:${dns.port}`)];
    const serving = issueCredential(proxyCa, { dnsNames: [proxyName], purposes: ['server'] });
    writeFileSync(folder.file('tls.crt'), serving.certificatePem);
    writeFileSync(folder.file('tls.key'), serving.keyPem, { mode: 0o600 });
    writeFileSync(folder.file('clients.pem'), caPem(clientCa));
    const front = { listen: undefined, certificateDir: folder.path, clientCaFile: folder.file('clients.pem') };
    spec = gatewaySpec({ listen: parseListenAddress('127.0.0.1:0'), dnsServers, front }, folder.path);
    gateway = await startGeneratedGateway(envoy, spec);
  });
  afterAll(async () => {
    await gateway.stop();
    await dns.close();
    folder.remove();
  });

  test('agree for random rules, hosts and ports, by any case, dots, brackets and zeros', async () => {
    let round = 0;
    const run = fc.asyncProperty(
      verdict,
      someRules,
      fc.array(question, { minLength: 12, maxLength: 12 }),
      async (byDefault, rules, questions) => {
        round += 1;
        const given = writtenPolicy(byDefault, rules, round);
        replaceRenderedFile(spec, policyFile, renderJson(policyDocument(given)));
        await taken(round);
        const judge = createPolicyJudge(given);
        for (const asked of questions) {
          const { name, port = 80, actor } = asked;
          const of = host(name.replace(/^\[(.*)\]$/, '$1'));
          const decided = judge.decide({ host: of, port, ...(actor === undefined ? {} : { actor }) });
          expect(await envoyOutcome(asked), JSON.stringify(asked)).toBe(outcomeName(decided.verdict, decided.rule));
        }
      },
    );
    await fc.assert(run, { numRuns: 25, endOnFailure: true });
  }, 120_000);

  /** every policy has a rule of its own round, by which it is seen to be in force */
  function writtenPolicy(
    byDefault: Policy['defaultVerdict'],
    rules: readonly (readonly [string, Policy['defaultVerdict'], readonly number[], readonly string[]])[],
    number: number,
  ): Policy {
    const written = rules.map(([target, of, portsOf, actorsOf], index) =>
      rule(target, of, { name: `r${index}`, ports: portsOf, actors: actorsOf }),
    );
    return policy(byDefault, ...written, rule('round.invalid', 'deny', { name: `round-${number}` }));
  }

  function taken(number: number): Promise<unknown> {
    const mark = { spelling: 'round.invalid', actor: undefined, isTunnel: false };
    return waitFor('the new policy', async () => (await envoyOutcome(mark)) === `deny:round-${number}`);
  }

  type Asked = Pick<Question, 'spelling' | 'actor' | 'isTunnel'>;

  /** a refusal names its rule in a header; what was allowed names it in the record */
  async function envoyOutcome({ spelling, actor, isTunnel }: Asked): Promise<string | undefined> {
    const tls = actor === undefined ? {} : { tls: toProxy(actor) };
    const tunnelsBefore = tunnels().length;
    const answer = await rawExchange({
      port: gateway.port,
      ...tls,
      ...(isTunnel
        ? { send: connectRequest(spelling), until: '\r\n\r\n' }
        : { send: `GET http://${spelling}/ HTTP/1.1\r\nHost: ignored.test\r\nConnection: close\r\n\r\n` }),
    });
    if (answer.headers['x-leafgate-error'] === 'blocked_by_policy') return answer.headers['x-leafgate-rule'];
    if (isTunnel && answer.status === 200) {
      const line = await waitFor(`the line of ${spelling}`, () => tunnels()[tunnelsBefore]);
      return line.text.rule;
    }
    const { id } = JSON.parse(answer.body) as { id: string };
    return (await gateway.lineOf(spelling, (candidate) => candidate.id === id)).text.rule;
  }

  /** the lines of opened tunnels; those of their ends have another type */
  function tunnels(): readonly AccessLogLine[] {
    return gateway.lines().filter(({ leg, type }) => leg === 'connect' && /Established/.test(type));
  }

  function toProxy(actor: string): ConnectionOptions {
    const { certificatePem: cert = '', keyPem: key = '' } = certificates.get(actor) ?? {};
    return { ca: caPem(proxyCa), servername: proxyName, ALPNProtocols: ['http/1.1'], cert, key };
  }
});
