import { writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { days, epoch, plus } from '../../../src/clock.ts';
import { LeafgateError } from '../../../src/errors.ts';
import { prepareCheck, prepareServe } from '../../../src/probe/prepare-check.ts';
import type { ProbeRequest } from '../../../src/probe/prepare-check.ts';
import { createTempFolder } from '../../support/temp-folder.ts';
import type { TempFolder } from '../../support/temp-folder.ts';
import { createTestAuthority, issueServerCertificate } from '../../support/test-certificates.ts';

const gateway = createTestAuthority({ organisation: 'gateway' });
const roots = createTestAuthority({ organisation: 'public' });
const now = epoch(Date.now());
const url = 'https://api.example.com/';

let folder: TempFolder;
let usual: ProbeRequest;

beforeAll(async () => {
  folder = createTempFolder();
  const { chainPem, keyPem } = issueServerCertificate(gateway, { names: ['api.example.com'] });
  const files = {
    'ca.pem': gateway.pem,
    'other.pem': roots.pem,
    'roots.crt': roots.pem,
    'empty.pem': '',
    'leaf.pem': chainPem,
    'key.pem': keyPem + gateway.pem,
    'both.pem': chainPem + gateway.pem,
  };
  await Promise.all(Object.entries(files).map(([name, text]) => writeFile(folder.file(name), text)));
  usual = { defaultCaFile: folder.file('ca.pem'), systemRootsFile: folder.file('roots.crt'), now };
});
afterAll(() => folder.remove());

async function problemsOf(urls: readonly string[], more: Partial<ProbeRequest> = {}): Promise<readonly string[]> {
  try {
    await prepareCheck(urls, { ...usual, ...more });
    return [];
  } catch (thrown) {
    const error = LeafgateError.from(thrown);
    return error.problems.length === 0 ? [error.code] : error.problems.map(({ code }) => code);
  }
}

describe('what a check is prepared from', () => {
  it('is the default bundle, the roots and no proxy', async () => {
    const prepared = await prepareCheck([url], usual);
    expect(prepared.bundle.anchors[0]?.sha256).toBe(gateway.certificate.sha256);
    expect(prepared.system.anchors[0]?.sha256).toBe(roots.certificate.sha256);
    expect(prepared.proxy).toBeUndefined();
    expect(await prepared.bundleFile.current()).toBe(prepared.bundle);
  });

  it('is --ca in place of the default, and --server-name for both halves', async () => {
    const given = { caFile: folder.file('other.pem'), serverName: 'www.example.com', proxy: 'http://127.0.0.1:3128' };
    const prepared = await prepareCheck([url], { ...usual, ...given });
    expect(prepared.bundle.source).toBe(given.caFile);
    expect([prepared.bundle.serverName, prepared.system.serverName]).toEqual([
      { kind: 'dns', host: 'www.example.com' },
      { kind: 'dns', host: 'www.example.com' },
    ]);
    expect(prepared.proxy?.authority).toBe('127.0.0.1:3128');
  });

  it('may hold certificates of servers beside a CA', async () => {
    expect(await problemsOf([url], { caFile: folder.file('both.pem') })).toEqual([]);
  });
});

describe('--ca and --server-name', () => {
  it.each<[string, Partial<ProbeRequest>, string]>([
    ['--ca and --server-name', { caFile: 'ca.pem', serverName: 'a.example' }, '--ca and --server-name cannot verify'],
    ['--ca', { caFile: 'ca.pem' }, '--ca cannot verify'],
    ['--server-name', { serverName: 'a.example' }, '--server-name cannot verify'],
  ])('are refused together for a URL without TLS: %s', async (_, given, message) => {
    const request = { ...usual, ...given, ...(given.caFile === undefined ? {} : { caFile: folder.file('ca.pem') }) };
    await expect(prepareCheck(['http://api.example.com/'], request)).rejects.toMatchObject({
      code: 'probe-trust-without-tls',
      message: expect.stringContaining(message) as string,
    });
  });

  it.each([
    ['empty.pem', 'pem-empty'],
    ['key.pem', 'pem-private-key'],
    ['leaf.pem', 'probe-ca-verifies-nothing'],
    ['missing.pem', 'trust-file-unreadable'],
  ])('are refused where the file could verify nobody: %s', async (file, code) => {
    expect(await problemsOf([url], { caFile: folder.file(file) })).toEqual([code]);
  });

  it('are refused with the reason', async () => {
    await expect(prepareCheck([url], { ...usual, caFile: folder.file('leaf.pem') })).rejects.toMatchObject({
      message: expect.stringContaining('no CA certificate') as string,
    });
  });

  it('are refused where every CA has expired', async () => {
    expect(await problemsOf([url], { now: plus(now, days(31)) })).toEqual(['probe-ca-verifies-nothing']);
    expect(await problemsOf([url], { now: plus(now, days(29)) })).toEqual([]);
  });

  it('are refused behind a proxy that would be verified with the same roots', async () => {
    expect(await problemsOf([url], { proxy: 'https://proxy.example:3129' })).toEqual(['proxy-over-tls']);
  });

  it('tell a bad server name once', async () => {
    expect(await problemsOf([url], { serverName: '*.example.com' })).toEqual(['trust-server-name']);
  });
});

describe('what is wrong', () => {
  it('is told all at once', async () => {
    const problems = await problemsOf(['http://a.example/', url, 'nonsense'], {
      caFile: folder.file('empty.pem'),
      systemRootsFile: folder.file('missing.crt'),
      proxy: 'socks5://127.0.0.1',
      dial: 'nowhere',
    });
    expect([...problems].sort()).toEqual(
      [
        'fetch-dial-invalid',
        'fetch-url-invalid',
        'pem-empty',
        'probe-trust-without-tls',
        'proxy-not-a-url',
        'trust-file-unreadable',
      ].sort(),
    );
  });

  it('is a plain http URL also where no trust was given', async () => {
    expect(await problemsOf(['http://a.example/'])).toEqual(['fetch-url-not-https']);
  });

  it('is a check of nothing', async () => {
    expect(await problemsOf([])).toEqual(['probe-no-url']);
  });

  it('is not the lack of URLs for a server, which gets them later', async () => {
    expect((await prepareServe(usual)).bundle.source).toBe(folder.file('ca.pem'));
    await expect(prepareServe({ ...usual, caFile: folder.file('empty.pem') })).rejects.toMatchObject({
      code: 'pem-empty',
    });
  });
});
