// Names under random input: nothing throws, nothing odd is accepted, canonical forms are fixed points, bytes echo.
import { isIP } from 'node:net';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cidrAround, cidrContains, cidrText, parseCidr, subtractCidrs } from '../../src/names/cidr.ts';
import { hostPatternText, parseHostPattern } from '../../src/names/host-pattern.ts';
import { ipAddressFromOctets, parseIpAddress } from '../../src/names/ip-address.ts';
import type { Cidr, IpAddress } from '../../src/names/name-types.ts';
import {
  askedNameFromBytes,
  askedNameFromText,
  askedNameToBytes,
  parseAskedName,
} from '../../src/names/parse-asked-name.ts';
import { parseHostName } from '../../src/names/parse-host-name.ts';

/** texts near the border of what is a name: its own alphabet, and the characters that must not pass */
const nearName = fc.string({
  unit: fc.constantFrom(...Array.from('abzAZ019-_..*:/[]@% \r\n\0ü'), 'xn--', 'com', '1.2.3.4', '0x', 'a'.repeat(63)),
  maxLength: 20,
});
const anyText = fc.oneof(nearName, fc.string({ unit: 'binary' }), fc.domain(), fc.ipV4(), fc.ipV6());

const address = fc
  .oneof(fc.uint8Array({ minLength: 4, maxLength: 4 }), fc.uint8Array({ minLength: 16, maxLength: 16 }), sparseIpv6())
  .map((octets): IpAddress => ipAddressFromOctets(octets) ?? expect.fail('4 or 16 octets'));

describe('asked names', () => {
  it('echo any bytes exactly', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        expect([...askedNameToBytes(askedNameFromBytes(bytes))]).toEqual([...bytes]);
      }),
    );
  });

  it('are never accepted as a host name with anything but a-z, 0-9, hyphen, underscore and dot', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const parsed = parseAskedName(askedNameFromText(text));
        if (parsed.kind === 'dns') expect(parsed.host).toMatch(/^[a-z0-9_.-]{1,253}$/);
      }),
      { numRuns: 2000 },
    );
  });

  it('parse to the same value again from their canonical form', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const parsed = parseAskedName(askedNameFromText(text));
        if (parsed.kind === 'refused') return;
        const canonical = parsed.kind === 'dns' ? parsed.host : parsed.address.text;
        expect(parseAskedName(askedNameFromText(canonical))).toEqual(parsed);
      }),
      { numRuns: 2000 },
    );
  });

  it('are accepted in any case as one host name', () => {
    fc.assert(
      fc.property(fc.domain(), (domain) => {
        expect(parseHostName(domain.toUpperCase())).toBe(parseHostName(domain));
      }),
    );
  });
});

describe('addresses', () => {
  it('are read back from their text, which Node takes too', () => {
    fc.assert(
      fc.property(address, (given) => {
        expect(parseIpAddress(given.text)).toEqual(given);
        expect(isIP(given.text)).toBe(given.octets.length === 4 ? 4 : 6);
      }),
    );
  });

  it('are read as the URL standard reads them', () => {
    fc.assert(
      fc.property(fc.ipV6(), (text) => {
        const read = parseIpAddress(text);
        const ofRead = new URL(`http://[${read?.text ?? ''}]/`).hostname;
        expect(ofRead).toBe(new URL(`http://[${text}]/`).hostname);
      }),
    );
  });

  it('are refused whenever Node refuses them', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        if (isIP(text) === 0) expect(parseIpAddress(text)).toBeUndefined();
      }),
      { numRuns: 2000 },
    );
  });
});

describe('ranges', () => {
  const range = fc
    .tuple(address, fc.nat(128))
    .map(([base, length]): Cidr => cidrAround(base, length % (base.octets.length * 8 + 1)));

  it('are read back from their text', () => {
    fc.assert(
      fc.property(range, (given) => {
        expect(parseCidr(cidrText(given))).toEqual(given);
      }),
    );
  });

  it('without exceptions hold exactly what the range holds and no exception does', () => {
    const near = fc.tuple(address, fc.array(fc.nat(32), { minLength: 2, maxLength: 5 })).map(([base, lengths]) => {
      const [outer = 0, ...inner] = lengths.map((length) => base.octets.length * 8 - length);
      return {
        base,
        outer: cidrAround(base, outer),
        exceptions: inner.map((length) => cidrAround(nudged(base), length)),
      };
    });
    fc.assert(
      fc.property(near, fc.nat(1000), ({ base, outer, exceptions }, offset) => {
        const pieces = subtractCidrs(outer, exceptions);
        const probe = nudged(base, offset);
        const isExpected =
          cidrContains(outer, probe) && !exceptions.some((exception) => cidrContains(exception, probe));
        expect(pieces.filter((piece) => cidrContains(piece, probe))).toHaveLength(isExpected ? 1 : 0);
      }),
      { numRuns: 1000 },
    );
  });
});

describe('patterns', () => {
  it('are read back from their text', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          anyText,
          fc.domain().map((domain) => `*.${domain}`),
        ),
        (text) => {
          const pattern = parseHostPattern(text);
          if (pattern !== undefined) expect(parseHostPattern(hostPatternText(pattern))).toEqual(pattern);
        },
      ),
      { numRuns: 2000 },
    );
  });
});

/** runs of zeros are what RFC 5952 is about; uniform octets nearly never have one */
function sparseIpv6(): fc.Arbitrary<Uint8Array> {
  const octet = fc.oneof({ weight: 5, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(255) });
  return fc.array(octet, { minLength: 16, maxLength: 16 }).map((octets) => Uint8Array.from(octets));
}

/** an address with other last bits */
function nudged(base: IpAddress, offset = 1): IpAddress {
  const octets = base.octets.slice();
  const last = octets.length - 1;
  octets[last] = (octets[last] ?? 0) ^ (offset & 0xff);
  octets[last - 1] = (octets[last - 1] ?? 0) ^ (offset >> 8);
  return ipAddressFromOctets(octets) ?? base;
}
