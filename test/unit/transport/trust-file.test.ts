import { rename, symlink, writeFile } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemTrust } from '../../../src/transport/system-trust.ts';
import { createTrustFile } from '../../../src/transport/trust-file.ts';
import { createTempFolder } from '../../support/temp-folder.ts';
import type { TempFolder } from '../../support/temp-folder.ts';
import { createTestAuthority } from '../../support/test-certificates.ts';

const first = createTestAuthority();
const second = createTestAuthority();
let folder: TempFolder;

beforeEach(() => {
  folder = createTempFolder();
});
afterEach(() => folder.remove());

describe('a trust in a file', () => {
  it('is the same value as long as the bytes are the same', async () => {
    const path = folder.file('ca.pem');
    await writeFile(path, first.pem);
    const file = createTrustFile({ path });
    const trust = await file.current();
    await writeFile(path, first.pem);
    expect(await file.current()).toBe(trust);
    expect(trust.source).toBe(path);
  });

  it('is another one as soon as the file changes, a symlink swap included', async () => {
    await writeFile(folder.file('1.pem'), first.pem);
    await writeFile(folder.file('2.pem'), second.pem);
    await symlink('1.pem', folder.file('ca.pem'));
    const file = createTrustFile({ path: folder.file('ca.pem') });
    const before = await file.current();
    await symlink('2.pem', folder.file('next'));
    await rename(folder.file('next'), folder.file('ca.pem'));
    const after = await file.current();
    expect(after.sha256).not.toBe(before.sha256);
    expect(after.anchors[0]?.sha256).toBe(second.certificate.sha256);
  });

  it('is an error, not the older trust, once the file is bad', async () => {
    const path = folder.file('ca.pem');
    await writeFile(path, first.pem);
    const file = createTrustFile({ path });
    await file.current();
    await writeFile(path, first.pem.slice(0, -30));
    await expect(file.current()).rejects.toMatchObject({ code: 'pem-broken-block' });
  });

  it('names the file that is missing', async () => {
    const path = folder.file('none.pem');
    await expect(createTrustFile({ path }).current()).rejects.toMatchObject({
      code: 'trust-file-unreadable',
      message: expect.stringContaining(path) as string,
    });
  });

  it('carries the server name that was given with it', async () => {
    await writeFile(folder.file('ca.pem'), first.pem);
    const trust = await createTrustFile({ path: folder.file('ca.pem'), serverName: 'api.example.com' }).current();
    expect(trust.serverName).toEqual({ kind: 'dns', host: 'api.example.com' });
  });
});

describe("the system's roots", () => {
  it('are the first of the known files that can be read', async () => {
    await writeFile(folder.file('roots.crt'), second.pem);
    const candidates = [folder.file('none.crt'), folder.file('roots.crt'), folder.file('later.crt')];
    const file = await systemTrust({ candidates });
    expect(file.path).toBe(folder.file('roots.crt'));
    expect((await file.current()).anchors[0]?.sha256).toBe(second.certificate.sha256);
  });

  it('are not what SSL_CERT_FILE names, which in an actor is the bundle', async () => {
    await writeFile(folder.file('roots.crt'), second.pem);
    await writeFile(folder.file('bundle.pem'), first.pem);
    const before = process.env['SSL_CERT_FILE'];
    process.env['SSL_CERT_FILE'] = folder.file('bundle.pem');
    try {
      expect((await systemTrust({ candidates: [folder.file('roots.crt')] })).path).toBe(folder.file('roots.crt'));
    } finally {
      if (before === undefined) delete process.env['SSL_CERT_FILE'];
      else process.env['SSL_CERT_FILE'] = before;
    }
  });

  it('are the file that a person names, when one is named', async () => {
    await writeFile(folder.file('mine.pem'), first.pem);
    const file = await systemTrust({ rootsFile: folder.file('mine.pem'), candidates: [folder.file('none.crt')] });
    expect(file.path).toBe(folder.file('mine.pem'));
  });

  it('are missed with an error that says where it looked', async () => {
    await expect(systemTrust({ candidates: [folder.file('none.crt')] })).rejects.toMatchObject({
      code: 'trust-no-system-roots',
      message: expect.stringContaining('none.crt') as string,
    });
  });
});
