// What a person reads in a condition where the controller may not read: the rule to add, and what else may be wrong.
import { describe, expect, test } from 'vitest';
import { unavailableDetail } from '../../../src/controller/read-observed.ts';
import { configMaps, secrets } from '../../../src/controller/watched-kinds.ts';
import type { KubeResource } from '../../../src/kube/kube-types.ts';

function said(resource: KubeResource, kind: 'forbidden' | 'unavailable'): string {
  return unavailableDetail({ kind, message: 'as it said', causes: [] }, { resource, namespace: 'egress', name: 'pol' });
}

describe('what cannot be read', () => {
  test('is told with the rule that is missing, for a Secret also with its name to be looked at', () => {
    const rule = 'the controller has no rule for list, watch on secrets "pol" in namespace egress: add it to its Role';
    expect(said(secrets, 'forbidden')).toBe(`${rule}, or mend the name of the Secret in the spec (as it said)`);
  });

  test('is told with the rule alone where the controller chose the name', () => {
    expect(said(configMaps, 'forbidden')).toMatch(/: add it to its Role \(as it said\)$/);
  });

  test('is told as the API server does where no rule is missing', () => {
    expect(said(secrets, 'unavailable')).toBe('as it said');
  });
});
