// What `leafgate project` was asked to do: every option read and checked, all problems at once.
import { resolve } from 'node:path';
import { LeafgateError } from '../errors.ts';
import type { HealthListen } from '../observe/health-server.ts';
import { givenTexts, isSwitchedOn, type SettingSource } from '../settings/read-settings.ts';
import { settingsErrors } from '../settings/settings-errors.ts';
import { switchSettings, textSettings } from '../settings/text-settings.ts';
import { cliErrors } from './cli-errors.ts';
import { parseHealthTarget } from './health-target.ts';
import { createProblems } from '../problems.ts';

export type ProjectValues = {
  readonly volume?: string;
  readonly actors?: string;
  readonly bundles: string;
  readonly dir: string;
  readonly once?: boolean;
  readonly rootsFrom?: string;
  readonly mode?: string;
  readonly owner?: string;
};

export type ProjectSettings = {
  readonly what:
    | { readonly kind: 'volume'; readonly file: string; readonly isOnce: boolean }
    | { readonly kind: 'actors'; readonly folder: string };
  readonly bundlesFile: string;
  readonly dir: string;
  readonly rootsFrom: string | undefined;
  readonly fileMode: number;
  readonly folderMode: number;
  readonly owner: Owner | undefined;
  readonly kubeconfigFile: string | undefined;
  readonly health: HealthListen | undefined;
  readonly json: boolean;
};

type Owner = { readonly uid: number; readonly gid: number };

/** @throws one error with everything that is wrong */
export function readProjectOptions(values: ProjectValues, source: SettingSource): ProjectSettings {
  const { attempt, throwAny } = createProblems();
  const what = attempt(() => readWhat(values));
  const fileMode = attempt(() => (values.mode === undefined ? 0o644 : parseMode(values.mode)));
  const owner = attempt(() => (values.owner === undefined ? undefined : parseOwner(values.owner)));
  attempt(() => needFolder(values.dir));
  const health = givenTexts(textSettings.metrics, source).at(-1);
  const settings = {
    bundlesFile: values.bundles,
    dir: values.dir,
    rootsFrom: values.rootsFrom,
    owner,
    kubeconfigFile: givenTexts(textSettings.kubeconfig, source).at(-1)?.text,
    health: health && attempt(() => parseHealthTarget(health, true)),
    json: attempt(() => isSwitchedOn(switchSettings.json, source)) ?? false,
  };
  throwAny();
  if (what === undefined || fileMode === undefined) throw LeafgateError.from('an option was lost');
  return { ...settings, what, fileMode, folderMode: folderModeFor(fileMode) };
}

/** as of a variable in a script that was never set */
function needFolder(dir: string): void {
  if (dir !== '') return;
  const fields = {
    setting: '--dir',
    value: dir,
    expected: 'the path of a folder',
    example: '--dir /run/leafgate/trust',
  };
  throw settingsErrors.error('setting-malformed', fields);
}

function readWhat({ volume, actors, once = false, dir }: ProjectValues): ProjectSettings['what'] {
  if (volume !== undefined && actors !== undefined) throw cliErrors.error('project-what-twice');
  if (volume !== undefined) return { kind: 'volume', file: volume, isOnce: once };
  if (actors === undefined) throw cliErrors.error('project-what-missing');
  if (once) throw cliErrors.error('project-once-for-one');
  // what is written for actors must not stand among what they ask for
  if (resolve(actors) === resolve(dir)) throw cliErrors.error('project-folders-same', { folder: actors });
  return { kind: 'actors', folder: actors };
}

/** no bit beyond those of reading, writing and running: a file of trust is no program of another user */
function parseMode(text: string): number {
  const mode = /^0?[0-7]{3}$/.test(text) ? Number.parseInt(text, 8) : 0;
  if ((mode & 0o400) !== 0) return mode;
  const expected = 'an octal mode of three digits by which the owner can read';
  throw settingsErrors.error('setting-malformed', { setting: '--mode', value: text, expected, example: '--mode 0640' });
}

/** whoever may read a file may enter its folder; the owner can always write there */
function folderModeFor(fileMode: number): number {
  return fileMode | ((fileMode & 0o444) >> 2) | 0o700;
}

/** what the kernel keeps; the last one stands for "unchanged" (chown(2)) */
const maxId = 2 ** 32 - 2;

function parseOwner(text: string): Owner {
  const [, uid, gid] = (/^(\d{1,10}):(\d{1,10})$/.exec(text) ?? []).map(Number);
  if (uid !== undefined && gid !== undefined && uid <= maxId && gid <= maxId) return { uid, gid };
  const expected = 'the numbers of a user and a group';
  throw settingsErrors.error('setting-malformed', {
    setting: '--owner',
    value: text,
    expected,
    example: '--owner 1000:1000',
  });
}
