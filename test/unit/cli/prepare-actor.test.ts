// What the owner of a command trusts already is not lost beside a gateway, and nobody else's.
import { mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { claimsOfCommand } from '../../../src/cli/own-trust-folders.ts';
import { prepareActor } from '../../../src/cli/prepare-actor.ts';
import { parseRoots } from '../../../src/projection/system-roots.ts';
import { trustFilePaths, writeTrustFiles } from '../../../src/projection/trust-files.ts';
import { refreshOwnTrust } from '../../../src/projection/write-own-trust.ts';
import { encodeCertificatesPem } from '../../../src/x509/pem.ts';
import { makeCa } from '../../support/ca-workshop.ts';
import { createTempFolder, type TempFolder } from '../../support/temp-folder.ts';

const [anchor, newAnchor, root, corp, other] = [makeCa(), makeCa(), makeCa(), makeCa(), makeCa()].map(
  (ca) => ca.certificate,
);
if (!anchor || !newAnchor || !root || !corp || !other) throw new Error();
type Certificate = typeof anchor;

let temp: TempFolder;
let trustDir: string;
beforeEach(async () => {
  temp = createTempFolder();
  trustDir = temp.file('gateway/trust');
  await writeTrustFiles({ dir: trustDir, anchors: [anchor], systemRoots: [root] });
});
afterEach(() => temp.remove());

const prepare = (own: Readonly<Record<string, string>>, ...without: readonly string[]) => {
  const { claim } = claimsOfCommand({ root: temp.file('gateway/trust-with'), clock: systemClock });
  return prepareActor({ proxyUrl: 'http://127.0.0.1:1', trustDir, own, without: new Set(without), claim });
};
const file = (name: string, text: string | readonly Certificate[]): string => {
  writeFileSync(temp.file(name), typeof text === 'string' ? text : encodeCertificatesPem(text));
  return temp.file(name);
};
const held = (path = ''): readonly string[] =>
  parseRoots(readFileSync(path, 'latin1')).certificates.map(({ sha256 }) => sha256);
const hashes = (...certificates: readonly Certificate[]): readonly string[] =>
  certificates.map(({ sha256 }) => sha256).sort();
const ownFolders = (): readonly string[] => {
  try {
    return readdirSync(temp.file('gateway/trust-with'));
  } catch {
    return [];
  }
};

describe('an owner without files of his own', () => {
  test('gets the files of the gateway', async () => {
    const { variables, warnings } = await prepare({ HOME: temp.path });
    expect(variables['SSL_CERT_FILE']).toBe(trustFilePaths(trustDir).mergedFile);
    expect(warnings).toEqual([]);
    expect(ownFolders()).toEqual([]);
  });

  test('nor with a file that says nothing new, as the roots of the system', async () => {
    const { variables, warnings } = await prepare({ SSL_CERT_FILE: file('system.pem', [root]), CURL_CA_BUNDLE: '' });
    expect(variables['SSL_CERT_FILE']).toBe(trustFilePaths(trustDir).mergedFile);
    expect(warnings).toEqual([]);
    expect(ownFolders()).toEqual([]);
  });
});

describe('a file of roots in a variable', () => {
  test('that replaces is folded into what every such variable names, not into what adds to Node’s roots', async () => {
    const { variables, warnings } = await prepare({ REQUESTS_CA_BUNDLE: file('corp.pem', [corp]) });
    expect(warnings).toEqual([]);
    for (const name of ['REQUESTS_CA_BUNDLE', 'SSL_CERT_FILE']) {
      expect(held(variables[name])).toEqual(hashes(anchor, root, corp));
    }
    expect(held(variables['NODE_EXTRA_CA_CERTS'])).toEqual(hashes(anchor));
    const store = variables['SSL_CERT_FILE']?.replace(/pem$/, 'p12') ?? '';
    expect(variables['JAVA_TOOL_OPTIONS']).toContain(`trustStore=${store}`);
    expect(readFileSync(store).includes(Buffer.from(corp.der))).toBe(true);
  });

  test('that adds is folded into both', async () => {
    const { variables } = await prepare({ NODE_EXTRA_CA_CERTS: file('corp.pem', [corp]) });
    expect(held(variables['NODE_EXTRA_CA_CERTS'])).toEqual(hashes(anchor, corp));
    expect(held(variables['SSL_CERT_FILE'])).toEqual(hashes(anchor, root, corp));
  });

  test('is nobody else’s: another command gets the gateway’s files, a third one its own', async () => {
    const one = await prepare({ SSL_CERT_FILE: file('corp.pem', [corp]) });
    const plain = await prepare({});
    const another = await prepare({ SSL_CERT_FILE: file('other.pem', [other]) });
    expect(held(plain.variables['SSL_CERT_FILE'])).toEqual(hashes(anchor, root));
    expect(held(another.variables['SSL_CERT_FILE'])).toEqual(hashes(anchor, root, other));
    expect(held(one.variables['SSL_CERT_FILE'])).toEqual(hashes(anchor, root, corp));
    expect(ownFolders()).toHaveLength(2);
  });

  test('is folded in once, however often the command starts another', async () => {
    const first = await prepare({ SSL_CERT_FILE: file('corp.pem', [corp]), HOME: temp.path });
    const second = await prepare({ ...first.variables, HOME: temp.path });
    expect(second).toEqual(first);
    expect(ownFolders()).toHaveLength(1);
  });

  test.each<[string, () => string, RegExp]>([
    ['missing', () => temp.file('none'), /no such file/],
    ['a folder', () => temp.path, /it is a folder/],
    ['without a certificate', () => file('x', 'nothing'), /no certificate/],
  ])('that is %s stays in its variable, with a warning that names both', async (_, path, reason) => {
    const { variables, warnings } = await prepare({ SSL_CERT_FILE: path(), CURL_CA_BUNDLE: file('c', [corp]) });
    expect(variables).not.toHaveProperty('SSL_CERT_FILE');
    expect(held(variables['CURL_CA_BUNDLE'])).toEqual(hashes(anchor, root, corp));
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatch(reason);
    expect(warnings[0]).toContain(`SSL_CERT_FILE stays as it is`);
    expect(warnings[0]).toContain(path());
  });

  test('whose folder cannot be made is an error that names it', async () => {
    writeFileSync(temp.file('gateway/trust-with'), '');
    await expect(prepare({ SSL_CERT_FILE: file('corp.pem', [corp]) })).rejects.toMatchObject({
      code: 'trust-files-not-written',
      fields: { dir: expect.stringContaining(temp.file('gateway/trust-with/')) as unknown },
    });
  });

  test('with a part that cannot be read is folded in without it, which is said once', async () => {
    const broken = encodeCertificatesPem([other]).replace(/MI/, '!!');
    const path = file('mixed.pem', `${encodeCertificatesPem([corp])}${broken}`);
    const { variables, warnings } = await prepare({ SSL_CERT_FILE: path, CURL_CA_BUNDLE: path });
    expect(held(variables['SSL_CERT_FILE'])).toEqual(hashes(anchor, root, corp));
    expect(warnings).toEqual([expect.stringContaining('1 of the certificates')]);
  });

  test('with a private key beside it leaves the key where it is', async () => {
    const key = '-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMG\n-----END PRIVATE KEY-----\n';
    await prepare({ SSL_CERT_FILE: file('both.pem', `${key}${encodeCertificatesPem([corp])}`) });
    const [name = ''] = ownFolders();
    for (const written of ['own.json', 'ca.pem', 'ca-and-system.pem']) {
      expect(readFileSync(temp.file(`gateway/trust-with/${name}/${written}`), 'latin1')).not.toContain('MIGHAgEAMBMG');
    }
  });

  test('of a runtime that is left out is not even read', async () => {
    const { variables, warnings } = await prepare({ SSL_CERT_FILE: temp.file('none') }, 'openssl');
    expect(variables).not.toHaveProperty('SSL_CERT_FILE');
    expect(warnings).toEqual([]);
  });
});

describe('a gateway that gets another CA', () => {
  test('renews the files of every owner, who keeps what is his', async () => {
    const { variables } = await prepare({ NODE_EXTRA_CA_CERTS: file('corp.pem', [corp]), HOME: temp.path });
    const gateway = { trustDir, anchors: [anchor, newAnchor], systemRoots: [root] };
    expect(await refreshOwnTrust(gateway)).toEqual([]);
    expect(held(variables['NODE_EXTRA_CA_CERTS'])).toEqual(hashes(anchor, newAnchor, corp));
    expect(held(variables['SSL_CERT_FILE'])).toEqual(hashes(anchor, newAnchor, root, corp));
  });

  test('passes over what it cannot read there', async () => {
    mkdirSync(temp.file('gateway/trust-with/odd'), { recursive: true });
    writeFileSync(temp.file('gateway/trust-with/odd/own.json'), '{');
    writeFileSync(temp.file('gateway/trust-with/file'), '');
    expect(await refreshOwnTrust({ trustDir, anchors: [anchor], systemRoots: [root] })).toEqual([]);
  });

  test('names a folder that it cannot write, and renews the others all the same', async () => {
    const stuck = await prepare({ NODE_EXTRA_CA_CERTS: file('corp.pem', [corp]), HOME: temp.path });
    const fine = await prepare({ NODE_EXTRA_CA_CERTS: file('other.pem', [other]), HOME: temp.path });
    const stuckFile = stuck.variables['NODE_EXTRA_CA_CERTS'] ?? '';
    rmSync(stuckFile);
    mkdirSync(join(stuckFile, 'in-the-way'), { recursive: true });
    const failures = await refreshOwnTrust({ trustDir, anchors: [newAnchor], systemRoots: [root] });
    expect(failures).toMatchObject([{ code: 'trust-files-not-written', fields: { dir: join(stuckFile, '..') } }]);
    expect(held(fine.variables['NODE_EXTRA_CA_CERTS'])).toEqual(hashes(newAnchor, other));
  });
});

describe('settings files of an owner', () => {
  test('for wget are kept in a copy for him alone, with the gateway’s trust and his', async () => {
    file('.wgetrc', `password = secret\nca_certificate = ${file('corp.pem', [corp])}\nhttps_proxy = http://corp\n`);
    const { variables, warnings } = await prepare({ HOME: temp.path });
    const path = variables['WGETRC'] ?? '';
    const merged = join(path, '../ca-and-system.pem');
    expect(readFileSync(path, 'utf8')).toBe(`password = secret\nca_certificate = ${merged}\n`);
    expect(held(merged)).toEqual(hashes(anchor, root, corp));
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(warnings).toEqual([expect.stringMatching(/takes the place of https_proxy in .*\.wgetrc/)]);
    const again = await prepare({ ...variables, HOME: temp.path });
    expect(again.variables).toEqual(variables);
  });

  test('for wget that are named and cannot be read stay in force', async () => {
    const { variables, warnings } = await prepare({ WGETRC: temp.file('none') });
    expect(variables).not.toHaveProperty('WGETRC');
    expect(warnings).toEqual([expect.stringContaining(temp.file('none'))]);
  });

  test('for apt are included, also when the command starts another', async () => {
    const own = file('my.conf', '');
    const { variables } = await prepare({ APT_CONFIG: own });
    expect(readFileSync(variables['APT_CONFIG'] ?? '', 'utf8')).toMatch(`#include "${own}";\nAcquire::https::CAInfo`);
    expect((await prepare(variables)).variables).toEqual(variables);
    expect((await prepare((await prepare({})).variables)).variables).toEqual((await prepare({})).variables);
  });

  test('for apt that are missing, or have a name that cannot be included, stay in force', async () => {
    for (const path of [temp.file('none'), file('a"b', '')]) {
      const { variables, warnings } = await prepare({ APT_CONFIG: path });
      expect(variables).not.toHaveProperty('APT_CONFIG');
      expect(warnings).toEqual([expect.stringContaining('APT_CONFIG stays as it is')]);
    }
  });
});

test('no variable names a file that an older gateway did not write', async () => {
  const files = trustFilePaths(trustDir);
  rmSync(files.aptConfFile);
  rmSync(files.p12File);
  rmSync(files.phpFolder, { recursive: true });
  const { variables } = await prepare({});
  expect(variables).not.toHaveProperty('APT_CONFIG');
  expect(variables).not.toHaveProperty('PHP_INI_SCAN_DIR');
  expect(variables['JAVA_TOOL_OPTIONS']).not.toContain('trustStore');
  expect(variables).toHaveProperty('WGETRC');
});

test('a warning shows words of the environment on one line, and sends a terminal nothing else', async () => {
  const { warnings } = await prepare({ NO_PROXY: 'a b\n\u001b[2J/x', SSL_CERT_FILE: '/none/\n\u001b[2J' });
  expect(warnings).toHaveLength(2);
  expect(warnings.join('')).toContain('\\u000a\\u001b[2J');
  expect(warnings.join('')).not.toContain('\n');
});
