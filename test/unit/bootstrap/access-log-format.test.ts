// The generator writes the record and `observe` reads it: they must agree on every field. No line may cost much, nor
// hold a query string.
import { describe, expect, it } from 'vitest';
import { accessLog, recordFields, recordFormat, recordLegs } from '../../../src/bootstrap/access-log-format.ts';
import { parseAccessLogLine } from '../../../src/observe/access-log-line.ts';
import { at, valuesOf } from '../../support/json-walk.ts';

const readApart = ['leg', 'type', 'start', 'id', 'duration_ms', 'rx', 'tx'];

describe.each(recordLegs)('a line of leg %s', (leg) => {
  const format = recordFormat(leg);

  it('is read by observe, every field of it', () => {
    const written = Object.keys(format).filter((field) => !readApart.includes(field));
    const line = Object.fromEntries(written.map((field) => [field, '7']));
    const read = parseAccessLogLine(JSON.stringify({ ...line, leg }));
    const known = [...Object.keys(read?.text ?? {}), ...Object.keys(read?.number ?? {})];
    expect(known.sort()).toEqual(written.sort());
  });

  it('has what joins it to the others and says when, who, where to and by which rule', () => {
    // before a request there is nothing to join, and nobody has said where to
    const ofRequests = leg === 'front' || leg === 'redirected' ? [] : ['id', 'host', 'rule'];
    for (const field of ['type', 'start', 'client', ...ofRequests, 'flags', 'duration_ms', 'connection_id']) {
      expect(format).toHaveProperty(field);
    }
  });

  it('cuts whatever a client chooses the length of', () => {
    const lengths = { method: 32, authority: 300, path: 1024, host: 300 };
    for (const [field, length] of Object.entries(lengths)) {
      if (field in format) expect(format[field]).toMatch(new RegExp(`:${length}%$`));
    }
  });

  it('holds no user name or password that stood in front of a host', () => {
    expect(JSON.stringify(format)).not.toMatch(/REQ\(:AUTHORITY|FILTER_STATE\(leafgate\.(?:connect_)?host/);
    if ('authority' in format) expect(format['authority']).toContain('.*@');
  });

  it('holds no query string', () => {
    expect(JSON.stringify(format)).not.toMatch(/REQ\(:PATH|X-ENVOY-ORIGINAL-PATH|%PATH\((?!NQ:)/);
  });

  it('leaves out what Envoy does not know', () => {
    const [logFormat] = valuesOf(accessLog(leg, '/x'), 'log_format');
    expect(at(logFormat, 'omit_empty_values')).toBe(true);
  });
});

describe('the fields of records', () => {
  it('are each written by some leg', () => {
    const written = new Set(recordLegs.flatMap((leg) => Object.keys(recordFormat(leg))));
    expect([...written].sort()).toEqual([...recordFields].sort());
  });
});
