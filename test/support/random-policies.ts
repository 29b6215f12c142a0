// Random policies and random questions to them, made of few labels, addresses, ports and actors, so that they meet. A
// question has the authority that a client sends: some spelling of the host, and the port with zeros in front, or without.
import fc from 'fast-check';
import { cidrAround, cidrText } from '../../src/names/cidr.ts';
import { parseIpAddress } from '../../src/names/ip-address.ts';
import type { ValidName } from '../../src/names/name-types.ts';
import type { Policy, PolicyQuestion } from '../../src/policy/policy-types.ts';
import { host, policy, rule } from '../unit/policy/policy-fixtures.ts';

export type AskedPolicy = PolicyQuestion & { readonly authority: string };

/** what names and clients are made of */
export type Vocabulary = {
  /** the suffix of every name */
  readonly domain: string;
  readonly labels: readonly string[];
  /** URIs */
  readonly actors: readonly string[];
};

/** what a client without a verified identity has */
const nobody = undefined;

/** all of them closed to clients, so that no question leaves the machine */
const address4 = fc
  .tuple(fc.constantFrom('10.0', '10.1', '192.168'), fc.nat(1), fc.nat(3))
  .map((parts) => parts.join('.'));
const address6 = fc.tuple(fc.constantFrom('fd00', 'fd01:2'), fc.nat(1), fc.nat(3)).map(([net, a, b]) => {
  return `${net}:${a}::${b}`;
});
const port = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(80, 443, 8443) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 65_535 }) },
);
const verdict = fc.constantFrom('intercept', 'relay', 'tcp', 'deny');

/** names below the domain, itself included */
function names({ domain, labels }: Vocabulary): fc.Arbitrary<string> {
  return fc.array(fc.constantFrom(...labels), { maxLength: 3 }).map((parts) => [...parts, domain].join('.'));
}

function targets(vocabulary: Vocabulary): fc.Arbitrary<string> {
  const range4 = fc.tuple(address4, fc.constantFrom(0, 1, 8, 24, 30, 31, 32));
  const range6 = fc.tuple(address6, fc.constantFrom(0, 16, 48, 64, 127, 128));
  return fc.oneof(
    { weight: 4, arbitrary: names(vocabulary) },
    { weight: 4, arbitrary: names(vocabulary).map((name) => `*.${name}`) },
    { weight: 1, arbitrary: fc.oneof(address4, address6) },
    { weight: 2, arbitrary: fc.oneof(range4, range6).map(([base, length]) => rangeAround(base, length)) },
  );
}

/** Every rule has a name of its own, `r` and its place. */
export function randomPolicy(vocabulary: Vocabulary, maxRules = 10): fc.Arbitrary<Policy> {
  const narrowed = fc.record({
    target: targets(vocabulary),
    of: verdict,
    ports: fc.oneof(fc.constant([]), fc.uniqueArray(port, { maxLength: 3 })),
    actors: fc.oneof(fc.constant([]), fc.subarray([...vocabulary.actors])),
  });
  return fc.tuple(verdict, fc.array(narrowed, { maxLength: maxRules })).map(([byDefault, rules]) => {
    const written = rules.map(({ target, of, ...more }, index) => rule(target, of, { name: `r${index}`, ...more }));
    return policy(byDefault, ...written);
  });
}

export function randomQuestion(vocabulary: Vocabulary): fc.Arbitrary<AskedPolicy> {
  const spelling = fc.record({
    upper: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
    dots: fc.constantFrom('', '.', '..', '...'),
    port: fc.option(port, { nil: undefined }),
    zeros: fc.constantFrom('', '0', '00'),
  });
  const shape = fc.oneof(
    { weight: 6, arbitrary: names(vocabulary).map((text) => ({ text, written: text, isBracketed: false })) },
    { weight: 1, arbitrary: address4.map((text) => ({ text, written: text, isBracketed: false })) },
    { weight: 1, arbitrary: address6.map((text) => ({ text, written: text, isBracketed: true })) },
    { weight: 1, arbitrary: address6.map((text) => ({ text, written: longForm(text), isBracketed: true })) },
  );
  return fc
    .tuple(shape, spelling, fc.constantFrom(nobody, ...vocabulary.actors))
    .map(([{ text, written, isBracketed }, how, actor]) => {
      const spelled = mixedCase(written, how.upper);
      const hostPart = isBracketed ? `[${spelled}]` : `${spelled}${how.dots}`;
      const portPart = how.port === undefined ? '' : `:${how.zeros}${how.port}`;
      const question: { host: ValidName; port: number } = { host: host(text), port: how.port ?? 80 };
      return { ...question, ...(actor === undefined ? {} : { actor }), authority: `${hostPart}${portPart}` };
    });
}

function rangeAround(text: string, prefixLength: number): string {
  const address = parseIpAddress(text);
  if (address === undefined) throw new Error(`no address: ${text}`);
  return cidrText(cidrAround(address, prefixLength));
}

/** without `::` */
function longForm(address: string): string {
  const [head = '', tail = ''] = address.split('::');
  const known = head.split(':').length + 1;
  return [head, ...Array.from({ length: 8 - known }, () => '0'), tail].join(':');
}

function mixedCase(text: string, upper: bigint): string {
  return text.replace(/./g, (char, index: number) => {
    return (upper >> BigInt(index % 64)) & 1n ? char.toUpperCase() : char;
  });
}
