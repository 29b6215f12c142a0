// Overrides: by host and port, the last of each, nothing that could break out of the expression.
import { describe, expect, it } from 'vitest';
import { resolveDocument } from '../../../src/bootstrap/resolve-filter.ts';
import { parseResolveOverride } from '../../../src/settings/parse-targets.ts';
import { at, valuesOf } from '../../support/json-walk.ts';

function expressionOf(...overrides: readonly string[]): string {
  const document = resolveDocument(overrides.map((text) => parseResolveOverride(text)));
  return String(valuesOf(document, 'inline_string')[0]);
}

describe('resolveDocument', () => {
  it('without overrides is a filter that does nothing', () => {
    expect(at(resolveDocument([]), 'resources', 0)).toMatchObject({
      name: 'resolve',
      typed_config: { on_request_headers: [] },
    });
  });

  it('writes the address where the forward proxy looks for the host to dial', () => {
    const document = resolveDocument([parseResolveOverride('a.test:443:192.0.2.1')]);
    expect(valuesOf(document, 'object_key')).toEqual(['envoy.upstream.dynamic_host']);
    expect(valuesOf(document, 'skip_if_empty')).toEqual([true]);
  });

  it('puts IPv6 addresses in brackets', () => {
    expect(expressionOf('a.test:443:::1')).toContain("{'a.test:443': '[::1]'}");
  });

  it('takes the last override of a host and port', () => {
    const text = expressionOf('a.test:443:192.0.2.1', 'A.test:443:192.0.2.2', 'a.test:80:192.0.2.3');
    expect(text).toContain("{'a.test:443': '192.0.2.2', 'a.test:80': '192.0.2.3'}");
  });

  it('compares the normalised host and the dialled port', () => {
    expect(expressionOf('a.test:443:192.0.2.1')).toMatch(
      /^%CEL\(string\(filter_state\['leafgate\.connect_host'\]\) \+ ':' \+ string\(filter_state\['leafgate\.port'\]\) in /,
    );
  });
});
