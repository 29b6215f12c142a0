import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LeafgateError } from '../../src/errors.ts';
import { parseFetchTarget } from '../../src/transport/fetch-target.ts';
import { parseServerName } from '../../src/transport/server-name.ts';
import { parseServerTrust, trustKey } from '../../src/transport/server-trust.ts';
import { createTestAuthority } from '../support/test-certificates.ts';

const pems = Array.from({ length: 4 }, () => createTestAuthority().pem);
const host = parseServerName('api.example.com')!;
const some = fc.array(fc.nat({ max: pems.length - 1 }), { minLength: 1, maxLength: 8 });

const keyOf = (picks: readonly number[]): string =>
  trustKey(parseServerTrust({ bundle: picks.map((pick) => pems[pick]).join(''), source: 'test' }), host);

describe('the key of a trust', () => {
  it('is equal exactly when the sets of certificates are', () => {
    fc.assert(
      fc.property(some, some, (one, other) => {
        const isSame = pems.every((_, pick) => one.includes(pick) === other.includes(pick));
        expect(keyOf(one) === keyOf(other)).toBe(isSame);
      }),
    );
  });
});

describe('the URL of a fetch', () => {
  it('is read or refused with errors of ours, whatever it is', () => {
    const text = fc.oneof(
      fc.webUrl(),
      fc.string(),
      fc.string().map((rest) => `https://${rest}`),
    );
    fc.assert(
      fc.property(
        text,
        fc.option(
          fc.oneof(
            fc.string(),
            fc.domain().map((name) => `${name}:443`),
          ),
        ),
        (url, dial) => {
          try {
            const target = parseFetchTarget(url, dial ?? undefined);
            expect(target.origin).toMatch(/^https:\/\/[^/?#@\s]+$/);
            expect(target.path).toMatch(/^\/[^#\s]*$/);
          } catch (thrown) {
            if (!(thrown instanceof LeafgateError)) throw thrown;
            expect(thrown.code).not.toBe('internal');
          }
        },
      ),
    );
  });
});
