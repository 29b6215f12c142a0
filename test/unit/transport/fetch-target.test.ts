import { describe, expect, it } from 'vitest';
import { LeafgateError } from '../../../src/errors.ts';
import { authorityOf, maxUrlChars, parseFetchTarget } from '../../../src/transport/fetch-target.ts';

function problemsOf(url: string, dial?: string): readonly string[] {
  try {
    parseFetchTarget(url, dial);
    return [];
  } catch (thrown) {
    const error = LeafgateError.from(thrown);
    return error.problems.length === 0 ? [error.code] : error.problems.map(({ code }) => code);
  }
}

describe('the URL of a fetch', () => {
  it.each([
    ['https://api.example.com', 'https://api.example.com', 'api.example.com:443', '/'],
    ['https://API.Example.com.:443/a?b=c#d', 'https://api.example.com', 'api.example.com:443', '/a?b=c'],
    ['https://api.example.com:8443/', 'https://api.example.com:8443', 'api.example.com:8443', '/'],
    ['https://192.0.2.7/', 'https://192.0.2.7', '192.0.2.7:443', '/'],
    ['https://[2001:DB8:0::7]:8443/', 'https://[2001:db8::7]:8443', '[2001:db8::7]:8443', '/'],
    ['https://bücher.example/', 'https://xn--bcher-kva.example', 'xn--bcher-kva.example:443', '/'],
  ])('%s is taken apart into its canonical parts', (url, origin, authority, path) => {
    const target = parseFetchTarget(url);
    expect({ ...target, endpoint: authorityOf(target.endpoint) }).toEqual({ origin, endpoint: authority, path });
  });

  it.each([
    ['http://api.example.com/', 'fetch-url-not-https'],
    ['ftp://api.example.com/', 'fetch-url-not-https'],
    ['api.example.com', 'fetch-url-invalid'],
    ['', 'fetch-url-invalid'],
    ['https://api.example.com:0/', 'fetch-url-invalid'],
    ['https://user:secret@api.example.com/', 'fetch-url-credentials'],
    ['http://user:secret@api.example.com/', 'fetch-url-credentials'],
    ['https://-a.example/', 'fetch-url-host'],
  ])('%s is refused', (url, code) => {
    expect(problemsOf(url)).toEqual([code]);
  });

  it('may have the longest length and not one more', () => {
    const fill = 'a'.repeat(maxUrlChars - 'https://a.example/'.length);
    expect(problemsOf(`https://a.example/${fill}`)).toEqual([]);
    expect(problemsOf(`https://a.example/${fill}a`)).toEqual(['fetch-url-too-long']);
  });

  it.each(['https://user:secret@api.example.com/', 'https://user:secret@bad host/', 'user:secret@api.example.com'])(
    'does not show a password in its refusal: %s',
    (url) => {
      expect(() => parseFetchTarget(url)).toThrow(
        expect.objectContaining({ message: expect.not.stringContaining('secret') as string }) as Error,
      );
    },
  );
});

describe('the address to dial', () => {
  it.each([
    ['192.0.2.7:8443', '192.0.2.7:8443'],
    ['[2001:db8::7]:443', '[2001:db8::7]:443'],
    ['Other.example:1', 'other.example:1'],
  ])('%s is read', (dial, authority) => {
    const target = parseFetchTarget('https://api.example.com/', dial);
    expect(target.dial === undefined ? undefined : authorityOf(target.dial)).toBe(authority);
    expect(authorityOf(target.endpoint)).toBe('api.example.com:443');
  });

  it.each(['192.0.2.7', '192.0.2.7:0', '192.0.2.7:65536', '2001:db8::7:443', ':443', 'a b:1', 'https://a:1'])(
    '%s is refused',
    (dial) => {
      expect(problemsOf('https://api.example.com/', dial)).toEqual(['fetch-dial-invalid']);
    },
  );

  it('is refused together with the URL', () => {
    expect(problemsOf('http://api.example.com/', 'nowhere')).toEqual(['fetch-url-not-https', 'fetch-dial-invalid']);
  });
});
