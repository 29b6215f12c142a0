// What an actor asks for is read whole or refused with everything that is wrong in it, each with its place and a remedy.
import { describe, expect, it, test } from 'vitest';
import { parseTrustVolume, type TrustSource } from '../../../src/settings/trust-volume.ts';

function problemsOf(text: string | Uint8Array): readonly string[] {
  const reading = parseTrustVolume(Buffer.from(text), 'v.yaml');
  if (reading.kind === 'read') throw new Error(`was read: ${JSON.stringify(reading.value)}`);
  return reading.problems.map(({ message, remedy, code }) => `${message}; ${remedy} [${code}]`);
}

function sourcesOf(text: string): readonly (TrustSource | string)[] {
  const reading = parseTrustVolume(Buffer.from(text), 'v.yaml');
  return reading.kind === 'read' ? reading.value.sources : reading.problems.map(({ message }) => message);
}

function withPath(path: string): string {
  return JSON.stringify({ dataSources: [{ trustBundle: { name: 'a', path } }] });
}

function withPaths(...paths: readonly string[]): string {
  return JSON.stringify({ dataSources: paths.map((path) => ({ trustBundle: { name: 'a', path } })) });
}

const whole = `
# what this actor trusts
dataSources:
  - trustBundle:
      name: egress-mitm
      path: certs/ca.pem
  - trustBundle: {names: [egress-mitm, system-roots], path: certs/all.pem, form: PEM}
  - trustBundle: {name: egress-mitm, path: java.p12, form: PKCS12}
  - trustBundle: {name: egress-mitm, path: nssdb, form: NSS}
`;

describe('a volume file', () => {
  it('is sources with the names of bundles, a path and a form', () => {
    expect(sourcesOf(whole)).toEqual([
      { names: ['egress-mitm'], path: 'certs/ca.pem', form: 'PEM' },
      { names: ['egress-mitm', 'system-roots'], path: 'certs/all.pem', form: 'PEM' },
      { names: ['egress-mitm'], path: 'java.p12', form: 'PKCS12' },
      { names: ['egress-mitm'], path: 'nssdb', form: 'NSS' },
    ]);
  });

  it('is read from JSON too', () => {
    expect(sourcesOf(withPath('ca.pem'))).toEqual([{ names: ['a'], path: 'ca.pem', form: 'PEM' }]);
  });

  it('tells everything that is wrong at once, in the order of the file', () => {
    const text = [
      'dataSources:',
      '  - trustBundle: {name: "a b", path: /etc/ca.pem, form: JKS}',
      '  - trustBundle: {name: a, names: [b], path: x}',
      '  - trustBundle: {pats: y}',
      '  - {}',
      'more: 1',
    ].join('\n');
    expect(problemsOf(text)).toEqual([
      'v.yaml:2:25: name is "a b", which is not a bundle name of letters, digits, hyphens, dots and underscores, at most 253; write it like name: egress-mitm [delivery-value-wrong]',
      'v.yaml:2:38: path is /etc/ca.pem, which is not a relative path: it starts below the folder of the volume; write it like path: certs/ca.pem [delivery-value-wrong]',
      'v.yaml:2:57: form is JKS, which is not one of PEM, PKCS12, NSS; write it like form: PEM [delivery-value-wrong]',
      'v.yaml:3:35: trustBundle has name and names; keep one of them [delivery-keys-clash]',
      'v.yaml:4:18: trustBundle has no name; add name: egress-mitm, or names: [egress-mitm, system-roots] for one file of several bundles [delivery-key-missing]',
      'v.yaml:4:18: trustBundle has no path; add path: certs/ca.pem [delivery-key-missing]',
      'v.yaml:4:19: pats is no key of trustBundle; write path if that was meant; known are name, names, path, form [delivery-key-unknown]',
      'v.yaml:5:5: a data source has no trustBundle; write it as trustBundle: {name: egress-mitm, path: ca.pem} [delivery-key-missing]',
      'v.yaml:6:1: more is no key of the volume file; known are dataSources [delivery-key-unknown]',
    ]);
  });

  test.each([
    ['nothing', '', 'the file is empty; list what is wanted under dataSources, or give another file [delivery-syntax]'],
    ['no sources', '{}', 'the volume file has no dataSources'],
    ['an empty list of sources', 'dataSources: []', 'dataSources is an empty list, which is not a list'],
    ['a list', '[]', 'the volume file is a list, which is not a map with the keys dataSources'],
    ['an empty list of names', 'dataSources: [{trustBundle: {names: [], path: a}}]', 'names is an empty list'],
    ['a name that is a number', 'dataSources: [{trustBundle: {name: 1, path: a}}]', 'name is 1, which is not a bundle'],
    ['a name twice', 'dataSources: [{trustBundle: {names: [a, a], path: a}}]', 'the bundle a stands in names already'],
    ['a key twice', 'dataSources: []\ndataSources: []', 'the key dataSources stands here for the second time'],
    ['an alias', 'dataSources: &a [*a]', 'an alias is not read'],
    ['two documents', 'dataSources: []\n---\n{}', 'a second document begins here'],
    ['a backend', 'dataSources: [{trustBundle: {name: a, path: a, file: /x}}]', 'file is no key of trustBundle'],
    ['broken YAML', 'dataSources: "', 'see docs/trust-delivery.md for what such a file looks like [delivery-syntax]'],
    ['what is no UTF-8', Buffer.from([0xff, 0xfe]), 'it is not UTF-8; save it as plain UTF-8'],
    ['a NUL byte', 'dataSources: \u0000', 'the character U+0000 does not belong here'],
  ])('is refused when it has %s', (_, text, problem) => {
    expect(problemsOf(text).join('\n')).toContain(problem);
  });

  it('has at most 8 sources, of at most 8 names, in at most 64 KiB', () => {
    const paths = Array.from({ length: 8 }, (_, index) => `p${index}`);
    expect(sourcesOf(withPaths(...paths))).toHaveLength(8);
    expect(problemsOf(withPaths(...paths, 'p8'))).toEqual([
      'v.yaml:1:16: there are more than 8 dataSources; leave out what is not needed; names joins several bundles into one file [delivery-too-many]',
    ]);
    const names = (count: number) => {
      const list = Array.from({ length: count }, (_, index) => `n${index}`);
      return JSON.stringify({ dataSources: [{ trustBundle: { names: list, path: 'p' } }] });
    };
    expect(sourcesOf(names(8))).toHaveLength(1);
    expect(problemsOf(names(9)).join()).toContain('there are more than 8 names');
    expect(sourcesOf(`${withPath('p')}${' '.repeat(64 * 1024 - withPath('p').length)}`)).toHaveLength(1);
    expect(problemsOf(`${withPath('p')}${' '.repeat(64 * 1024)}`)).toEqual([
      'the file v.yaml has more than 65536 bytes; look whether it is the file that was meant; docs/trust-delivery.md shows one [delivery-file-too-large]',
    ]);
  });

  it('does not repeat a key that was put into it', () => {
    const text = withPath('-----BEGIN PRIVATE KEY-----\nAAAA');
    expect(problemsOf(text).join()).toContain('path is a PEM text, which is not a path of visible characters');
    expect(problemsOf(text).join()).not.toContain('AAAA');
  });
});

describe('the path of a source', () => {
  test.each([
    'ca.pem',
    'a/b/c.pem',
    '.hidden/ca.pem',
    'mit leer/ca.pem',
    'ä/ö.pem',
    'a'.repeat(255),
    'a/'.repeat(15) + 'a',
  ])('may be %s', (path) => {
    expect(sourcesOf(withPath(path))).toEqual([{ names: ['a'], path, form: 'PEM' }]);
  });

  test.each([
    ['/ca.pem', 'a relative path'],
    ['', 'a relative path'],
    ['..', 'without parts . and ..'],
    ['a/../b', 'without parts . and ..'],
    ['./a', 'without parts . and ..'],
    ['..data', 'without parts . and ..'],
    ['a//b', 'whose parts are not empty'],
    ['a/', 'whose parts are not empty'],
    ['a\\b', 'without a backslash'],
    ['.leafgate-volume', 'that leafgate keeps for itself'],
    ['.Leafgate-Volume/ca.pem', 'that leafgate keeps for itself'],
    ['a/.0123456789abcdef0123456789abcdef.leafgate-new', 'that leafgate keeps for itself'],
    ['C:a', 'without a colon'],
    ['a\u0000b', 'of visible characters'],
    ['a\nb', 'of visible characters'],
    ['a\u202eb', 'of visible characters'],
    ['a\ud800b', 'of visible characters'],
    ['a'.repeat(256), 'at most 255 bytes'],
    ['ä'.repeat(128), 'at most 255 bytes'],
    ['a/'.repeat(16) + 'a', 'at most 16 parts'],
  ])('may not be %j', (path, problem) => {
    expect(problemsOf(withPath(path)).join()).toContain(problem);
  });

  test.each([
    ['a/b', 'a/b', 'is that of another source, a/b'],
    ['CA.pem', 'ca.pem', 'is that of another source, CA.pem'],
    ['\u00e9', 'e\u0301', 'is that of another source, \u00e9'],
    ['a', 'a/b', 'is below a, which is another source'],
    ['a/b/c', 'a', 'is a folder of a/b/c, which is another source'],
    ['A', 'a/b', 'is below A, which is another source'],
  ])('is a file of its own: %s and %s are refused', (one, other, reason) => {
    expect(problemsOf(withPaths(one, other)).join()).toContain(reason);
  });

  it('may begin like another', () => {
    expect(sourcesOf(withPaths('a', 'ab', 'a.b/c', 'b/a'))).toHaveLength(4);
  });
});
