import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { parseHttpProxy } from '../../../src/transport/http-proxy.ts';

describe('a proxy', () => {
  it.each([
    ['http://127.0.0.1:3128', '127.0.0.1', 3128, '127.0.0.1:3128'],
    ['http://Proxy.example/', 'proxy.example', 80, 'proxy.example:80'],
    ['http://[::1]:3128', '::1', 3128, '[::1]:3128'],
  ])('%s is read', (text, host, port, authority) => {
    expect(parseHttpProxy(text)).toEqual({ host, port, authority });
  });

  it('over TLS is refused with the reason', () => {
    expect(() => parseHttpProxy('https://user:secret@proxy.example:3129')).toThrow(
      expect.objectContaining({
        code: 'proxy-over-tls',
        message: expect.stringContaining('would be verified with the roots meant for the server') as string,
      }) as Error,
    );
  });

  it.each(['', 'proxy.example:3128', 'socks5://127.0.0.1:1080', 'http://proxy.example/path', 'http://a b', 'http://'])(
    '"%s" is refused',
    (text) => {
      expect(() => parseHttpProxy(text)).toThrow(expect.objectContaining({ code: 'proxy-not-a-url' }) as Error);
    },
  );

  it.each(['https://user:secret@proxy.example', 'socks5://user:secret@proxy.example'])(
    'does not show a password when it is refused: %s',
    (text) => {
      expect(() => parseHttpProxy(text)).toThrow(
        expect.objectContaining({ message: expect.not.stringContaining('secret') as string }) as Error,
      );
    },
  );

  it('keeps credentials out of what is printed', () => {
    const proxy = parseHttpProxy('http://user:p%40ss@127.0.0.1:3128');
    const value = Buffer.from(proxy.authorization?.reveal() ?? []).toString();
    expect(value).toBe(`Basic ${Buffer.from('user:p@ss').toString('base64')}`);
    expect(`${inspect(proxy)} ${JSON.stringify(proxy)}`).not.toContain(value);
  });
});
