// What a deployment lets actors have is read whole or refused with everything that is wrong in it, each with its place.
import { describe, expect, it, test } from 'vitest';
import { parseBundleAllowlist, type BundleBackend } from '../../../src/settings/bundle-allowlist.ts';

function problemsOf(text: string): readonly string[] {
  const reading = parseBundleAllowlist(Buffer.from(text), 'b.yaml');
  if (reading.kind === 'read') throw new Error(`was read: ${JSON.stringify([...reading.value])}`);
  return reading.problems.map(({ message, remedy, code }) => `${message}; ${remedy} [${code}]`);
}

function backendsOf(text: string): Readonly<Record<string, BundleBackend>> {
  const reading = parseBundleAllowlist(Buffer.from(text), 'b.yaml');
  if (reading.kind === 'refused') throw reading.problems[0];
  return Object.fromEntries(reading.value);
}

function withBackend(backend: string): string {
  return `bundles: {x: ${backend}}`;
}

const whole = `
bundles:
  egress-mitm:
    clusterTrustBundle:
      signerName: example.com/egress
      matchLabels: {leafgate.dev/gateway: x, empty: ""}
  all-of-signer:  { clusterTrustBundle: { signerName: kubernetes.io/kube-apiserver-serving, matchLabels: {} } }
  by-name:        { clusterTrustBundle: { name: "example.com:egress:main" } }
  by-plain-name:  { clusterTrustBundle: { name: main } }
  from-kubelet:   { file: /run/leafgate/source/ca.pem }
  system-roots:   { systemRoots: {} }
`;

describe('a list of bundles', () => {
  it('maps each name to its backend', () => {
    expect(backendsOf(whole)).toEqual({
      'egress-mitm': {
        kind: 'cluster-trust-bundles',
        signerName: 'example.com/egress',
        matchLabels: { 'leafgate.dev/gateway': 'x', empty: '' },
      },
      'all-of-signer': {
        kind: 'cluster-trust-bundles',
        signerName: 'kubernetes.io/kube-apiserver-serving',
        matchLabels: {},
      },
      'by-name': { kind: 'cluster-trust-bundle', name: 'example.com:egress:main' },
      'by-plain-name': { kind: 'cluster-trust-bundle', name: 'main' },
      'from-kubelet': { kind: 'file', path: '/run/leafgate/source/ca.pem' },
      'system-roots': { kind: 'system-roots' },
    });
  });

  it('tells everything that is wrong at once, in the order of the file', () => {
    const text = [
      'bundles:',
      '  "a b": {file: ca.pem}',
      '  b: {file: /x, systemRoots: {}}',
      '  c: {}',
      '  d: {clusterTrustBundle: {}}',
      '  e: {clusterTrustBundle: {name: A, }}',
    ].join('\n');
    expect(problemsOf(text)).toEqual([
      'b.yaml:2:3: a name under bundles is "a b", which is not a bundle name of letters, digits, hyphens, dots and underscores, at most 253; write it like egress-mitm [delivery-value-wrong]',
      'b.yaml:2:17: file is ca.pem, which is not the absolute path of a file; write it like file: /run/leafgate/source/ca.pem [delivery-value-wrong]',
      'b.yaml:3:6: the bundle b has file and systemRoots; keep one of them [delivery-keys-clash]',
      'b.yaml:4:6: the bundle c has no backend; add one of clusterTrustBundle, file, systemRoots, such as systemRoots: {} [delivery-key-missing]',
      'b.yaml:5:27: clusterTrustBundle has no signerName; add signerName and matchLabels, or the name of one object [delivery-key-missing]',
      'b.yaml:5:27: clusterTrustBundle has no matchLabels; add the labels that choose among the bundles of the signer, or matchLabels: {} for all of them [delivery-key-missing]',
      'b.yaml:6:34: name is A, which is not the name of a ClusterTrustBundle, <name> or <signer domain>:<signer path>:<name>; write it like name: egress.example.com:mitm:main [delivery-value-wrong]',
    ]);
  });

  test.each([
    ['nothing', '', 'map each name that actors may ask for to its backend under bundles [delivery-syntax]'],
    ['no bundles', '{}', 'the list of bundles has no bundles; add bundles: {egress-mitm: {file: '],
    ['a map without a name', 'bundles: {}', 'bundles is a map, which is not a map of at least one name'],
    ['a list in place of a map', 'bundles: []', 'bundles is a list, which is not a map of names to backends'],
    ['a backend nobody knows', withBackend('{configMap: {}}'), 'configMap is no key of the bundle x'],
    ['a backend that is a text', withBackend('systemRoots'), 'the bundle x is systemRoots, which is not a map with'],
    [
      'system roots with a file',
      withBackend('{systemRoots: {file: /x}}'),
      'systemRoots is a map, which is not an empty',
    ],
    ['a folder as a file', withBackend('{file: /run/}'), 'file is /run/, which is not the absolute path of a file'],
    ['an empty file', withBackend('{file: ""}'), 'file is "", which is not the absolute path'],
    ['a NUL in a path', withBackend('{file: "/a\\0b"}'), 'which is not the absolute path'],
    ['a path of 4 KiB', withBackend(`{file: /${'a'.repeat(4095)}}`), 'which is not the absolute path'],
    [
      'a name and a signer',
      withBackend('{clusterTrustBundle: {name: a, signerName: example.com/a}}'),
      'clusterTrustBundle has name and a choice by signer; keep one of them [delivery-keys-clash]',
    ],
    [
      'a name and labels',
      withBackend('{clusterTrustBundle: {name: a, matchLabels: {}}}'),
      'clusterTrustBundle has name and a choice by signer',
    ],
    [
      'expressions',
      withBackend('{clusterTrustBundle: {signerName: example.com/a, matchExpressions: []}}'),
      'matchExpressions is no key of clusterTrustBundle',
    ],
    [
      'labels that are null, which would select nothing',
      withBackend('{clusterTrustBundle: {signerName: example.com/a, matchLabels: null}}'),
      'matchLabels is empty, which is not a map of labels',
    ],
    [
      'a label that is no text',
      withBackend('{clusterTrustBundle: {signerName: example.com/a, matchLabels: {live: true}}}'),
      'as a text; write it like live: "true"',
    ],
    [
      'a label value that is none',
      withBackend('{clusterTrustBundle: {signerName: example.com/a, matchLabels: {live: "a b"}}}'),
      'live is "a b", which is not a label value',
    ],
    [
      'a label key that is none',
      withBackend('{clusterTrustBundle: {signerName: example.com/a, matchLabels: {"a/b/c": d}}}'),
      'a label is "a/b/c", which is not a label key',
    ],
    [
      'a signer without a path',
      withBackend('{clusterTrustBundle: {signerName: example.com, matchLabels: {}}}'),
      'signerName is example.com, which is not a signer name',
    ],
    [
      'a name with two colons too many',
      withBackend('{clusterTrustBundle: {name: "example.com:a:b:c"}}'),
      'which is not the name of a ClusterTrustBundle',
    ],
    [
      'a name with one colon',
      withBackend('{clusterTrustBundle: {name: "example.com:a"}}'),
      'which is not the name of a ClusterTrustBundle',
    ],
  ])('is refused when it has %s', (_, text, problem) => {
    expect(problemsOf(text).join('\n')).toContain(problem);
  });

  it('has at most 1,000 names, and 32 labels a bundle, in at most 1 MiB', () => {
    const names = (count: number) =>
      JSON.stringify({
        bundles: Object.fromEntries(Array.from({ length: count }, (_, index) => [`n${index}`, { file: '/x' }])),
      });
    const labels = (count: number) => {
      const matchLabels = Object.fromEntries(Array.from({ length: count }, (_, index) => [`l${index}`, 'x']));
      return withBackend(JSON.stringify({ clusterTrustBundle: { signerName: 'example.com/a', matchLabels } }));
    };
    expect(Object.keys(backendsOf(names(1000)))).toHaveLength(1000);
    expect(problemsOf(names(1001)).join()).toContain(
      'there are more than 1000 bundles; leave out what no actor asks for',
    );
    expect(backendsOf(labels(32))).toHaveProperty('x');
    expect(problemsOf(labels(33)).join()).toContain('there are more than 32 labels');
    expect(problemsOf(`${whole}#${' '.repeat(1024 * 1024)}`).join()).toContain('has more than 1048576 bytes');
  });
});
