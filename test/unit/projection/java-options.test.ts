import { describe, expect, test } from 'vitest';
import { javaOptions, type JavaWish } from '../../../src/projection/java-options.ts';
import { javaUnproxiedHosts } from '../../../src/projection/no-proxy.ts';

const build = (wish: Partial<JavaWish>) =>
  javaOptions({ own: '', proxyUrl: undefined, trustStore: undefined, unproxied: [], ...wish });
const proxyUrl = 'http://127.0.0.1:3128';

describe('JAVA_TOOL_OPTIONS', () => {
  test.each([
    ['', ''],
    ['-Xmx1g  -ea', '-Xmx1g -ea'],
    [`-Da="b c" '-javaagent:/x y.jar'`, `-Da="b c" '-javaagent:/x y.jar'`],
  ])('keeps the options of its owner as they are: %j', (own, expected) => {
    expect(build({ own })).toEqual({ text: expected, warnings: [] });
  });

  test('names the proxy for both schemes, after what its owner has', () => {
    expect(build({ own: '-ea', proxyUrl, unproxied: ['localhost'] }).text).toBe(
      '-ea -Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=3128 -Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort=3128 -Dhttp.nonProxyHosts=localhost',
    );
  });

  test.each([
    ['http://[::1]:8', '-Dhttps.proxyHost=::1 -Dhttps.proxyPort=8 '],
    ['http://gateway.egress.svc', '-Dhttps.proxyHost=gateway.egress.svc -Dhttps.proxyPort=80 '],
  ])('takes %s apart', (url, expected) => {
    expect(build({ proxyUrl: url }).text).toContain(expected);
  });

  test('names no proxy that wants TLS, which Java does not speak to one, and says so', () => {
    const { text, warnings } = build({ proxyUrl: 'https://gateway:3129' });
    expect(text).toBe('');
    expect(warnings).toEqual([expect.stringContaining('no TLS')]);
  });

  test('takes the place of a proxy of its owner, says so, and keeps the hosts that stay off it', () => {
    const own = '-Dhttps.proxyHost=corp -Dhttp.nonProxyHosts=*.corp -Dhttps.proxyPort=3128';
    const { text, warnings } = build({ own, proxyUrl, unproxied: ['localhost'] });
    expect(text).not.toContain('proxyHost=corp');
    expect(text).toMatch(/-Dhttp\.nonProxyHosts=\*\.corp\|localhost$/);
    expect(warnings).toEqual([expect.stringMatching(/-Dhttps\.proxyHost=corp in JAVA_TOOL_OPTIONS/)]);
  });

  test('is the same when it is built upon itself', () => {
    const wish = { proxyUrl, trustStore: '/a b/t.p12', unproxied: ['localhost', '.svc'] };
    const once = build(wish);
    expect(build({ ...wish, own: once.text })).toEqual(once);
  });

  test('takes the place of a trust store that leafgate has set for another gateway', () => {
    const own = build({ trustStore: '/one/ca-and-system.p12' }).text;
    const { text, warnings } = build({ own, trustStore: '/other/ca-and-system.p12' });
    expect(text).not.toContain('/one/');
    expect(text).toContain('/other/');
    expect(warnings).toEqual([]);
  });

  test('leaves a trust store of its owner in force, and says so', () => {
    const own = '-Djavax.net.ssl.trustStore=/corp.jks -Djavax.net.ssl.trustStorePassword=secret';
    const { text, warnings } = build({ own, trustStore: '/t.p12' });
    expect(text).toBe(own);
    expect(warnings).toEqual([expect.stringMatching(/trust store of its own \(\/corp\.jks\)/)]);
  });

  test.each([`/a b`, `/a"b`, `/a'b`, `/a"b'c d`, '/a\nb', '/a$b\\c'])(
    'quotes the path %j as a JVM reads it',
    (path) => {
      const { text } = build({ trustStore: path });
      // as the JDK does: quotes of either kind are taken away, white space within them stays
      expect(asJvmReads(text)).toContain(`-Djavax.net.ssl.trustStore=${path}`);
    },
  );

  test('is left alone where a quote of its owner does not end: the JVM refuses it either way', () => {
    const { text, warnings } = build({ own: '-Da="b', proxyUrl });
    expect(text).toBe('-Da="b');
    expect(warnings).toHaveLength(1);
  });
});

describe('what stays off the proxy, as Java says it', () => {
  test.each<[string, readonly string[]]>([
    ['localhost', ['localhost']],
    ['127.0.0.1', ['127.*']],
    ['::1', ['[::1]']],
    ['*', ['*']],
    ['db.corp', ['db.corp', '*.db.corp']],
    ['.svc', ['*.svc']],
    ['*.corp', ['*.corp']],
    ['10.1.2.3', ['10.1.2.3']],
    ['10.0.0.0/8', ['10.*']],
    ['10.20.0.0/16', ['10.20.*']],
    ['10.20.30.0/24', ['10.20.30.*']],
    ['10.20.30.4/32', ['10.20.30.4']],
  ])('%s', (entry, patterns) => {
    expect(javaUnproxiedHosts([entry])).toEqual({ patterns, unsaid: [] });
  });

  test.each(['10.0.0.0/12', 'fd00::/8', 'db.corp:5432', 'a|b', 'a b', '10.0.0.0/8/8', 'x/8'])(
    '%s has no form and is named',
    (entry) => {
      expect(javaUnproxiedHosts([entry])).toEqual({ patterns: [], unsaid: [entry] });
    },
  );
});

function asJvmReads(text: string): readonly string[] {
  const words: string[] = [];
  let word: string | undefined;
  let quote = '';
  for (const character of text) {
    if (quote !== '') {
      if (character === quote) quote = '';
      else word = (word ?? '') + character;
    } else if (character === '"' || character === "'") {
      quote = character;
      word ??= '';
    } else if (/\s/.test(character)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else word = (word ?? '') + character;
  }
  return word === undefined ? words : [...words, word];
}
