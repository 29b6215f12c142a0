// A policy file in use: what is written is in force within a second, whole or not at all, and what is broken changes
// nothing.
import { mkdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { followPolicyFile } from '../../../src/cli/follow-policy-file.ts';
import { loadPolicyFile } from '../../../src/cli/read-policy-file.ts';
import { maxPolicyBytes } from '../../../src/settings/policy-file-errors.ts';
import { createFakeClock, type FakeClock } from '../../support/fake-clock.ts';
import { createTempFolder, type TempFolder } from '../../support/temp-folder.ts';
import { waitFor } from '../../support/wait-for.ts';

let folder: TempFolder;
beforeEach(() => {
  folder = createTempFolder();
});
afterEach(() => folder.remove());

describe('loading a policy file', () => {
  test('resolves its paths against its own folder', async () => {
    await mkdir(folder.file('etc'));
    await writeFile(
      folder.file('etc/p.yaml'),
      'default: deny\norigins: [{name: a, hosts: [a.test], certificate: tls.crt, key: tls.key}]',
    );
    const { file } = await loadPolicyFile(folder.file('etc/p.yaml'));
    expect(file.origins[0]).toMatchObject({ certificateFile: folder.file('etc/tls.crt') });
  });

  test('says all that is wrong, and why a file cannot be read', async () => {
    await writeFile(folder.file('p.yaml'), 'defalt: deny\nrules: 1');
    await expect(loadPolicyFile(folder.file('p.yaml'))).rejects.toMatchObject({
      problems: [{ code: 'policy-key-unknown' }, { code: 'policy-key-missing' }, { code: 'policy-value-wrong' }],
    });
    await expect(loadPolicyFile(folder.file('none'))).rejects.toMatchObject({
      code: 'policy-file-unreadable',
      message: `the policy file ${folder.file('none')} cannot be read: no such file or folder`,
    });
    await expect(loadPolicyFile(folder.path)).rejects.toMatchObject({ fields: { reason: 'it is a folder' } });
    await writeFile(folder.file('large'), Buffer.alloc(maxPolicyBytes + 1));
    await expect(loadPolicyFile(folder.file('large'))).rejects.toMatchObject({ code: 'policy-file-too-large' });
  });

  test('gives the same for a large file, which a thread reads, as for a small one', async () => {
    const rules = Array.from(
      { length: 3000 },
      (_, i) => `- {name: r${i}, hosts: [h${i}.test, 10.0.0.${i % 250}], verdict: deny}`,
    );
    await writeFile(folder.file('p.yaml'), `default: relay\nrules:\n${rules.join('\n')}\n`);
    const { file } = await loadPolicyFile(folder.file('p.yaml'));
    expect(file.policy.rules).toHaveLength(6000);
    expect(file.policy.rules[5999]).toMatchObject({
      name: 'r2999',
      target: { kind: 'host', pattern: { kind: 'address' } },
    });
    expect(file.lines.get('r2999')).toBe(3002);
    await writeFile(folder.file('p.yaml'), `rules:\n${rules.join('\n')}\n- {}`);
    await expect(loadPolicyFile(folder.file('p.yaml'))).rejects.toMatchObject({
      problems: [
        { code: 'policy-key-missing', message: expect.stringContaining('p.yaml:1:1: the policy file has no default') },
        ...Array.from({ length: 3 }, () => ({ code: 'policy-key-missing', remedy: expect.stringMatching(/./) })),
      ],
    });
  });
});

describe('following a policy file', () => {
  let clock: FakeClock;
  let follower: { close(): void } | undefined;
  let seen: string[];
  const path = () => folder.file('p.yaml');

  beforeEach(() => {
    clock = createFakeClock();
    seen = [];
  });
  afterEach(() => follower?.close());

  async function follow(text: string, at = path()): Promise<void> {
    await writeFile(at, text);
    await followAsItIs(at);
  }

  async function followAsItIs(at: string): Promise<void> {
    follower = followPolicyFile({
      path: at,
      known: await readFile(at),
      clock,
      events: {
        policyTaken: ({ policy }) => seen.push(`taken ${policy.defaultVerdict}`),
        policyRefused: ([problem]) => seen.push(`refused ${problem?.code ?? ''}`),
      },
    });
  }

  /** lets `ms` go by, each look that falls due done before the next */
  async function pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 100) {
      clock.advance(Math.min(100, left));
      await waitFor('the look', () => clock.pendingTimers() === 1);
    }
  }

  test('takes a change within a second, once', async () => {
    await follow('default: deny');
    await pass(1000);
    expect(seen).toEqual([]);
    await writeFile(path(), 'default: relay');
    await pass(600);
    expect(seen).toEqual(['taken relay']);
    await pass(2000);
    expect(seen).toHaveLength(1);
  });

  test('says of a file that is never the same twice that it is not taken, once, and takes it when it is quiet', async () => {
    await follow('default: deny');
    for (let round = 0; round < 80; round += 1) {
      await writeFile(path(), `default: relay # ${round}`);
      await pass(100);
    }
    expect(seen).toEqual(['refused policy-file-restless']);
    await writeFile(path(), 'default: deny');
    await pass(600);
    // what was known before is news too: the refusal is over
    expect(seen).toEqual(['refused policy-file-restless', 'taken deny']);
  });

  test('takes a file that was renamed into place, and a swap of the folder behind a link', async () => {
    await mkdir(folder.file('one'));
    await mkdir(folder.file('two'));
    await writeFile(folder.file('one/p.yaml'), 'default: deny');
    await writeFile(folder.file('two/p.yaml'), 'default: tcp');
    await symlink('one', folder.file('..data'));
    await symlink('..data/p.yaml', path());
    await followAsItIs(path());
    await symlink('two', folder.file('..new'));
    await rename(folder.file('..new'), folder.file('..data'));
    await pass(600);
    expect(seen).toEqual(['taken tcp']);
    await writeFile(folder.file('new'), 'default: relay');
    await rename(folder.file('new'), path());
    await pass(600);
    expect(seen).toEqual(['taken tcp', 'taken relay']);
  });

  test('does not take the half of a file that is still being written', async () => {
    await follow('default: deny');
    await writeFile(path(), 'default: intercept\n');
    await pass(200);
    await writeFile(path(), 'default: intercept\nrules: [{name: a, hosts: [a.test], verdict: deny}]\n');
    await pass(100);
    expect(seen).toEqual([]);
    await pass(300);
    expect(seen).toEqual(['taken intercept']);
  });

  test('reports a broken file once, another fault again, and says when it is good again', async () => {
    await follow('default: deny');
    await writeFile(path(), 'default: maybe');
    await pass(2000);
    expect(seen).toEqual(['refused policy-value-wrong']);
    await rm(path());
    await pass(1000);
    expect(seen.slice(1)).toEqual(['refused policy-file-unreadable']);
    await writeFile(path(), 'default: deny');
    await pass(1000);
    expect(seen.slice(2)).toEqual(['taken deny']);
  });

  test('does not miss a file that is away for the moment of a swap, nor report it', async () => {
    await follow('default: deny');
    await rm(path());
    await pass(200);
    await writeFile(path(), 'default: deny');
    await pass(1000);
    expect(seen).toEqual([]);
  });

  test('looks no more once it is closed', async () => {
    await follow('default: deny');
    follower?.close();
    expect(clock.pendingTimers()).toBe(0);
  });
});
