// A policy is written once and decided twice: Envoy's verdict equals `policy.decide`, whatever the spelling of a host
// (design decision 15). One Envoy; the policy is replaced by file while it runs, as in production.
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { policyDocument, outcomeName } from '../../src/bootstrap/policy-filter.ts';
import { policyFile, renderJson } from '../../src/bootstrap/rendered-files.ts';
import { createPolicyJudge } from '../../src/policy/policy-judge.ts';
import type { Policy } from '../../src/policy/policy-types.ts';
import { parseListenAddress } from '../../src/settings/parse-listen.ts';
import { gatewaySpec } from '../support/gateway-spec.ts';
import { describeWithTools } from '../support/describe-with-tools.ts';
import { replaceRenderedFile, startGeneratedGateway, type GeneratedGateway } from '../support/generated-gateway.ts';
import { startNxdomainServer, type NxdomainServer } from '../support/nxdomain-server.ts';
import { plainGet } from '../support/raw-proxy-client.ts';
import { createTempFolder, type TempFolder } from '../support/temp-folder.ts';
import { waitFor } from '../support/wait-for.ts';
import { host, policy, rule } from '../unit/policy/policy-fixtures.ts';

const names = ['x.invalid', 'a.x.invalid', 'b.a.x.invalid', 'y.invalid', '10.0.0.1', '10.1.0.1', '[fd00::1]'];
const targets = [
  ...['x.invalid', 'a.x.invalid', '*.x.invalid', '*.a.x.invalid', '*.invalid', '10.0.0.1', 'fd00::1'],
  ...['10.0.0.0/8', '10.0.0.0/24', '0.0.0.0/0', 'fd00::/64'],
];
const ports = [80, 443];

const verdict = fc.constantFrom('intercept', 'relay', 'tcp', 'deny');
const someRules = fc.array(fc.tuple(fc.constantFrom(...targets), verdict, fc.subarray(ports)), { maxLength: 8 });

type Question = { readonly name: string; readonly port: number | undefined; readonly spelling: string };

const question: fc.Arbitrary<Question> = fc
  .record({
    name: fc.constantFrom(...names),
    port: fc.option(fc.constantFrom(...ports, 8080), { nil: undefined }),
    isUpper: fc.boolean(),
    dots: fc.constantFrom('', '.', '..', '...'),
    zeros: fc.constantFrom('', '0', '00'),
  })
  .map(({ name, port, isUpper, dots, zeros }) => {
    const spelled = `${isUpper ? name.toUpperCase() : name}${name.startsWith('[') ? '' : dots}`;
    return { name, port, spelling: port === undefined ? spelled : `${spelled}:${zeros}${port}` };
  });

describeWithTools('Envoy and policy.decide', ['envoy-1.40.0'], ({ 'envoy-1.40.0': envoy }) => {
  let folder: TempFolder;
  let gateway: GeneratedGateway;
  let dns: NxdomainServer;
  let spec = gatewaySpec();
  beforeAll(async () => {
    folder = createTempFolder();
    dns = await startNxdomainServer();
    const dnsServers = [parseListenAddress(`127.0.0.1:${dns.port}`)];
    spec = gatewaySpec({ listen: parseListenAddress('127.0.0.1:0'), dnsServers }, folder.path);
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
        for (const { name, port = 80, spelling } of questions) {
          const decided = judge.decide({ host: host(name.replace(/^\[(.*)\]$/, '$1')), port });
          expect(await envoyOutcome(spelling), spelling).toBe(outcomeName(decided.verdict, decided.rule));
        }
      },
    );
    await fc.assert(run, { numRuns: 25 });
  }, 120_000);

  /** every policy has a rule of its own round, by which it is seen to be in force */
  function writtenPolicy(
    byDefault: Policy['defaultVerdict'],
    rules: readonly (readonly [string, Policy['defaultVerdict'], readonly number[]])[],
    number: number,
  ): Policy {
    const written = rules.map(([target, of, portsOf], index) =>
      rule(target, of, { name: `r${index}`, ports: portsOf }),
    );
    return policy(byDefault, ...written, rule('round.invalid', 'deny', { name: `round-${number}` }));
  }

  function taken(number: number): Promise<unknown> {
    return waitFor('the new policy', async () => (await envoyOutcome('round.invalid')) === `deny:round-${number}`);
  }

  /** a refusal names its rule in a header; what was allowed names it in the record */
  async function envoyOutcome(authority: string): Promise<string | undefined> {
    const answer = await plainGet(gateway.port, `http://${authority}/`);
    const { error, id } = JSON.parse(answer.body) as { error: string; id: string };
    if (error === 'blocked_by_policy') return answer.headers['x-leafgate-rule'];
    const line = await gateway.lineOf(authority, (candidate) => candidate.id === id);
    return line.text.rule;
  }
});
