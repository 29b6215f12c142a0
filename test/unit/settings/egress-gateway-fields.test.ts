// docs/egress-gateway-fields.md tells defaults, also those that the definition does not write into objects: they must be what
// the controller takes.
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parseEgressGateway } from '../../../src/settings/egress-gateway.ts';
import { gatewayObject, type GatewayObject } from '../../support/egress-gateway-object.ts';

const page = readFileSync(new URL('../../../docs/egress-gateway-fields.md', import.meta.url), 'utf8');
const rows = [...page.matchAll(/^\| `spec\.(\w+)\.(\w+)` \| ([^|]+) \| `([^`]+)` \|/gm)];
/** a part with its fields, given as the page tells them */
const told = new Map<string, Record<string, unknown>>();
for (const [, part = '', key = '', kind = '', value = ''] of rows) {
  const given = kind === 'boolean' ? value === 'true' : /^\d+ to \d+$/.test(kind) ? Number(value) : value;
  told.set(part, { ...told.get(part), [key]: given });
}

describe('docs/egress-gateway-fields.md', () => {
  test('tells defaults of every part that has some', () => {
    expect([...told.keys()]).toEqual(['trustBundle', 'sds', 'listener', 'limits']);
    expect(rows.length).toBeGreaterThanOrEqual(10);
  });

  test.each([...told])('tells the defaults of %s that hold', (part, fields) => {
    const least = gatewayObject();
    const given = { ...((least['spec'] as GatewayObject)[part] as GatewayObject), ...fields };
    expect(parseEgressGateway(gatewayObject({ [part]: given }))).toEqual(parseEgressGateway(least));
  });
});
