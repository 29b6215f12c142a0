// What a person chose as policy: a file, or rules from flags. The two exclude each other, so that nobody has to know which
// would win.
import { policyAllowingAny, policyAllowingOnly } from '../policy/allow-list.ts';
import type { Policy, Verdict } from '../policy/policy-types.ts';
import { parseRuleFlag, policyOfFlags } from '../settings/policy-flags.ts';
import { parseHostPatternSetting } from '../settings/parse-targets.ts';
import { givenTexts, isSwitchedOn, type SettingSource } from '../settings/read-settings.ts';
import { settingsErrors } from '../settings/settings-errors.ts';
import { flagOf, type TextSetting } from '../settings/setting-types.ts';
import { switchSettings, textSettings } from '../settings/text-settings.ts';
import { cliErrors } from './cli-errors.ts';
import type { Problems } from '../problems.ts';

export type PolicyChoice =
  | { readonly kind: 'file'; readonly path: string }
  /** `source` says to people where the rules come from */
  | { readonly kind: 'rules'; readonly policy: Policy; readonly source: string };

const fromFlags = 'flags';
const builtIn = 'built in';

const verdictFlags: readonly (readonly [TextSetting, Verdict])[] = [
  [textSettings.allow, 'intercept'],
  [textSettings.deny, 'deny'],
  [textSettings.relay, 'relay'],
  [textSettings.tcp, 'tcp'],
];

/** Of `up` and `run`: everything is intercepted unless something else is said. Keeps what is wrong as problems. */
export function readGatewayPolicy(settings: SettingSource, problems: Problems): PolicyChoice {
  const { attempt } = problems;
  const path = policyFile(settings, problems);
  const given = verdictFlags.flatMap(([row, verdict]) => givenTexts(row, settings).map((text) => ({ text, verdict })));
  if (path !== undefined) {
    attempt(() => checkAlone([...new Set(given.map(({ text }) => text.setting))]));
    return { kind: 'file', path };
  }
  const rules = given.flatMap(({ text, verdict }) => attempt(() => [parseRuleFlag(text, verdict)]) ?? []);
  const source = rules.length === 0 ? builtIn : fromFlags;
  return { kind: 'rules', policy: attempt(() => policyOfFlags(rules)) ?? policyAllowingAny(), source };
}

/** Of `sds`, which starts with an explicit choice only. Keeps what is wrong as problems. */
export function readMintingPolicy(source: SettingSource, problems: Problems): PolicyChoice {
  const { attempt } = problems;
  const path = policyFile(source, problems);
  const allowed = givenTexts(textSettings.allow, source);
  const isAny = attempt(() => isSwitchedOn(switchSettings.allowAny, source)) ?? false;
  const chosen = [
    ...(path === undefined ? [] : [textSettings.policy]),
    ...(allowed.length === 0 ? [] : [textSettings.allow]),
    ...(isAny ? [switchSettings.allowAny] : []),
  ];
  attempt(() => checkOne(chosen.map(flagOf)));
  if (path !== undefined) return { kind: 'file', path };
  if (isAny) return { kind: 'rules', policy: policyAllowingAny(), source: fromFlags };
  const patterns = allowed.flatMap(
    ({ text, setting }) => attempt(() => [parseHostPatternSetting(text, setting)]) ?? [],
  );
  return { kind: 'rules', policy: policyAllowingOnly(patterns), source: fromFlags };
}

/** an empty variable of a script is a slip, and no policy would intercept everything */
function policyFile(source: SettingSource, { attempt }: Problems): string | undefined {
  const given = givenTexts(textSettings.policy, source).at(-1);
  if (given?.text === '') attempt(() => refuseEmpty(given.setting));
  return given?.text;
}

function refuseEmpty(setting: string): never {
  const [expected, example] = ['the path of a file', `${setting} policy.yaml`];
  throw settingsErrors.error('setting-malformed', { setting, value: '', expected, example });
}

function checkAlone(others: readonly string[]): void {
  if (others.length > 0) throw cliErrors.error('policy-choice-twice', { others: others.join(', ') });
}

function checkOne(chosen: readonly string[]): void {
  if (chosen.length === 0) throw cliErrors.error('mint-choice-missing');
  if (chosen.length > 1) throw cliErrors.error('mint-choice-twice', { chosen: chosen.join(' and ') });
}
