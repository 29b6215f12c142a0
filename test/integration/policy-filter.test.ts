// The policy in a real Envoy: what it counts for each rule, what dry-run rules would have decided, which version it holds,
// and that it goes on with the last good one.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { seconds, systemClock } from '../../src/clock.ts';
import { policyDocument, policyFilterName } from '../../src/bootstrap/policy-filter.ts';
import { policyFile, renderJson } from '../../src/bootstrap/rendered-files.ts';
import { followedOutcome, readFollowedState } from '../../src/envoy/followed-files.ts';
import { readRuleHits } from '../../src/envoy/rule-hits.ts';
import type { Policy } from '../../src/policy/policy-types.ts';
import { parseListenAddress } from '../../src/settings/parse-listen.ts';
import { describeWithTools } from '../support/describe-with-tools.ts';
import { gatewaySpec } from '../support/gateway-spec.ts';
import { replaceRenderedFile, startGeneratedGateway, type GeneratedGateway } from '../support/generated-gateway.ts';
import { startNxdomainServer, type NxdomainServer } from '../support/nxdomain-server.ts';
import { plainGet } from '../support/raw-proxy-client.ts';
import { createTempFolder, type TempFolder } from '../support/temp-folder.ts';
import { policy, rule } from '../unit/policy/policy-fixtures.ts';

const followed = { kind: 'filter', name: policyFilterName } as const;

describeWithTools('the policy in Envoy', ['envoy-1.40.0'], ({ 'envoy-1.40.0': envoy }) => {
  let folder: TempFolder;
  let dns: NxdomainServer;
  let gateway: GeneratedGateway;
  let spec = gatewaySpec();
  beforeAll(async () => {
    folder = createTempFolder();
    dns = await startNxdomainServer();
    spec = gatewaySpec(
      {
        listen: parseListenAddress('127.0.0.1:0'),
        dnsServers: [parseListenAddress(`127.0.0.1:${dns.port}`)],
        policy: policy(
          'intercept',
          rule('a.test', 'deny', { name: 'first' }),
          rule('*.b.test', 'relay', { name: 'b.c' }),
        ),
        dryRun: policy('deny', rule('a.test', 'intercept', { name: 'tried' })),
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

  async function replaced(given: Policy, text?: string): ReturnType<typeof followedOutcome> {
    const document = policyDocument(given);
    const { admin } = gateway;
    const { refusals } = await readFollowedState(admin, followed);
    replaceRenderedFile(spec, policyFile, text ?? renderJson(document));
    const waited = { followed, version: document.version_info, refusalsBefore: refusals };
    return followedOutcome({ admin, clock: systemClock, deadline: seconds(10), ...waited });
  }

  test('is counted rule by rule, and dry-run rules apart, which decide nothing', async () => {
    for (const name of ['a.test', 'a.test', 'x.b.test', 'c.test']) await plainGet(gateway.port, `http://${name}/`);
    const hits = await readRuleHits(gateway.admin);
    const of = (mode: string) =>
      Object.fromEntries(hits.filter((hit) => hit.mode === mode).map(({ outcome, hits: count }) => [outcome, count]));
    expect(of('enforced')).toEqual({ 'deny:first': 2, 'relay:b.c': 1, 'intercept:default': 1 });
    expect(of('dry-run')).toEqual({ 'intercept:tried': 2, 'deny:default': 2 });
    expect(new Set(hits.map(({ leg }) => leg))).toEqual(new Set(['proxy']));
  });

  test('is known by its version once Envoy holds it', async () => {
    expect((await readFollowedState(gateway.admin, followed)).version).toBe(
      policyDocument(spec.policy, spec.dryRun).version_info,
    );
    expect(await replaced(policy('deny', rule('c.test', 'intercept')))).toBe('taken');
    expect((await plainGet(gateway.port, 'http://d.test/')).headers['x-leafgate-rule']).toBe('deny:default');
  });

  test.each([
    ['is no JSON', '{'],
    [
      'is another filter',
      JSON.stringify(policyDocument(policy('deny'))).replaceAll('rbac.v3.RBAC', 'router.v3.Router'),
    ],
    [
      'has another name, as one that means something else in a later version',
      JSON.stringify(policyDocument(policy('intercept'))).replace('"name":"policy"', '"name":"policy-2"'),
    ],
  ])('stays the last good one when a file %s, and the refusal is seen', async (_, text) => {
    expect(await replaced(policy('deny', rule('e.test', 'deny', { name: 'last-good' })))).toBe('taken');
    expect(await replaced(policy('intercept'), text)).toBe('refused');
    expect((await plainGet(gateway.port, 'http://e.test/')).headers['x-leafgate-rule']).toBe('deny:last-good');
  });

  test('may have ten thousand rules of several hosts each', async () => {
    const rules = Array.from({ length: 10_000 }, (_, index) => [
      rule(`h${index}.test`, 'deny', { name: `r${index}` }),
      rule(`*.h${index}.test`, 'deny', { name: `r${index}`, ports: [index + 1] }),
    ]).flat();
    expect(await replaced(policy('intercept', ...rules))).toBe('taken');
    expect((await plainGet(gateway.port, 'http://h9999.test/')).headers['x-leafgate-rule']).toBe('deny:r9999');
    expect((await plainGet(gateway.port, 'http://x.h4242.test:4243/')).headers['x-leafgate-rule']).toBe('deny:r4242');
  });
});
