// The policy as Envoy gets it. That it decides as `policy.decide` does is held in test/property.
import { describe, expect, it } from 'vitest';
import { outcomeName, policyDocument } from '../../../src/bootstrap/policy-filter.ts';
import { at, valuesOf } from '../../support/json-walk.ts';
import { policy, rule } from '../policy/policy-fixtures.ts';

describe('policyDocument', () => {
  const document = policyDocument(
    policy('deny', rule('a.test', 'relay', { name: 'one' }), rule('*.b.test', 'deny', { name: 'two' })),
  );

  it('is a response with one named resource, as Envoy reads files', () => {
    expect(at(document, 'resources')).toHaveLength(1);
    expect(at(document, 'resources', 0)).toMatchObject({
      '@type': 'type.googleapis.com/envoy.config.core.v3.TypedExtensionConfig',
      name: 'policy',
      typed_config: { '@type': 'type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBAC' },
    });
  });

  it('names every outcome by verdict and rule, and denies only what a deny rule says', () => {
    const actions = valuesOf(document, 'action').filter((value) => typeof value === 'string');
    const names = valuesOf(document, 'typed_config').flatMap((config) => {
      const { name, action } = config as { name?: string; action?: string };
      return name !== undefined && action !== undefined ? [`${name}=${action}`] : [];
    });
    expect(actions).toHaveLength(4);
    expect(names.sort()).toEqual([
      'deny:default=DENY',
      'deny:two=DENY',
      'intercept:self-check=ALLOW',
      'relay:one=ALLOW',
    ]);
  });

  it('counts hits per rule', () => {
    expect(at(document, 'resources', 0, 'typed_config', 'track_per_rule_stats')).toBe(true);
  });

  it('has no range matcher without ranges, which Envoy would refuse empty', () => {
    expect(valuesOf(document, 'range_matchers')).toEqual([]);
  });

  it('takes 10,000 rules, and lists the hosts of one rule once', () => {
    const named = (name: (index: number) => string): number => {
      const rules = Array.from({ length: 10_000 }, (_, index) => rule(`h${index}.test`, 'deny', { name: name(index) }));
      return valuesOf(policyDocument(policy('intercept', ...rules)), 'domains').length;
    };
    expect(named((index) => `r${index}`)).toBe(10_001);
    expect(named(() => 'all')).toBe(2);
  });

  it('carries a version of its own, the same for the same rules', () => {
    const again = policyDocument(policy('deny', rule('a.test', 'relay', { name: 'one' })));
    expect(again.version_info).toBe(
      policyDocument(policy('deny', rule('a.test', 'relay', { name: 'one' }))).version_info,
    );
    expect(again.version_info).not.toBe(document.version_info);
  });

  it('has dry-run rules in a matcher that only counts, under a name of their own', () => {
    const both = policyDocument(policy('intercept'), policy('deny', rule('a.test', 'relay', { name: 'tried' })));
    const filter = at(both, 'resources', 0, 'typed_config');
    expect(filter).toMatchObject({ rules_stat_prefix: 'policy_', shadow_rules_stat_prefix: 'dry_run_' });
    expect(JSON.stringify(at(filter, 'matcher'))).not.toContain('tried');
    expect(JSON.stringify(at(filter, 'shadow_matcher'))).toContain('relay:tried');
    expect(filter).toHaveProperty('track_per_rule_stats', true);
    expect(at(document, 'resources', 0, 'typed_config')).not.toHaveProperty('shadow_matcher');
  });
});

describe('outcomeName', () => {
  it('starts with the verdict, which chooses the chain', () => {
    expect(outcomeName('tcp', 'ssh')).toBe('tcp:ssh');
  });
});
