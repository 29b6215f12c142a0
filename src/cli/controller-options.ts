// What `leafgate controller` was asked to do: every option read and checked, all problems at once.
import type { DurationMs } from '../clock.ts';
import { controllerErrors } from '../controller/controller-errors.ts';
import { parseSignerBound } from '../controller/parse-signer-bound.ts';
import type { SignerBound } from '../controller/signer-bounds.ts';
import { LeafgateError } from '../errors.ts';
import type { HealthListen } from '../observe/health-server.ts';
import { namespaceRule, objectNameRule, type TextRule } from '../settings/kubernetes-names.ts';
import {
  givenTexts,
  isSwitchedOn,
  readQuantities,
  type GivenText,
  type SettingSource,
} from '../settings/read-settings.ts';
import { flagOf, type TextSetting } from '../settings/setting-types.ts';
import { settingsErrors } from '../settings/settings-errors.ts';
import { switchSettings, textSettings } from '../settings/text-settings.ts';
import { parseHealthTarget } from './health-target.ts';
import { createProblems, type Problems } from '../problems.ts';

export type ControllerValues = { readonly release?: boolean };

export type ControllerSettings = {
  readonly namespaces: readonly string[];
  readonly signers: readonly SignerBound[];
  readonly clusterDomain: string;
  readonly kubeconfigFile: string | undefined;
  readonly health: HealthListen | undefined;
  readonly leaseName: string;
  /** undefined: where the access to the cluster says, else the first namespace */
  readonly leaseNamespace: string | undefined;
  readonly resyncMs: DurationMs;
  readonly json: boolean;
  readonly isRelease: boolean;
};

/** @throws one error with everything that is wrong */
export function readControllerOptions(values: ControllerValues, source: SettingSource): ControllerSettings {
  const problems = createProblems();
  const { attempt } = problems;
  const isRelease = values.release ?? false;
  const namespaces = readNamespaces(source, problems);
  const signers = isRelease ? [] : readSigners(namespaces, source, problems);
  const quantities = attempt(() => readQuantities(source));
  const one = (row: TextSetting): GivenText | undefined => givenTexts(row, source).at(-1);
  const health = one(textSettings.metrics);
  const settings = {
    ...{ namespaces, signers, isRelease },
    clusterDomain: attempt(() => named(one(textSettings.clusterDomain), objectNameRule)) ?? 'cluster.local',
    kubeconfigFile: one(textSettings.kubeconfig)?.text,
    health: health && attempt(() => parseHealthTarget(health, true)),
    leaseName: attempt(() => named(one(textSettings.leaseName), objectNameRule)) ?? 'leafgate-controller',
    leaseNamespace: attempt(() => named(one(textSettings.leaseNamespace), namespaceRule)),
    json: attempt(() => isSwitchedOn(switchSettings.json, source)) ?? false,
  };
  problems.throwAny();
  if (quantities === undefined) throw LeafgateError.from('a setting was lost');
  return { ...settings, resyncMs: quantities.resync };
}

function readNamespaces(source: SettingSource, { attempt }: Problems): readonly string[] {
  const given = givenTexts(textSettings.namespace, source);
  if (given.length === 0) attempt(() => missing(textSettings.namespace, '--namespace egress'));
  const names = given.map((text) => attempt(() => named(text, namespaceRule)));
  return [...new Set(names.filter((name) => name !== undefined))];
}

function readSigners(
  namespaces: readonly string[],
  source: SettingSource,
  { attempt }: Problems,
): readonly SignerBound[] {
  const given = givenTexts(textSettings.signer, source);
  if (given.length === 0) attempt(() => missing(textSettings.signer, "--signer 'egress=egress.example.com/*'"));
  return given.map((text) => attempt(() => signerWithin(namespaces, text))).filter((bound) => bound !== undefined);
}

function signerWithin(namespaces: readonly string[], given: GivenText): SignerBound {
  const bound = parseSignerBound(given);
  if (namespaces.includes(bound.namespace)) return bound;
  const fields = { setting: given.setting, value: given.text, namespace: bound.namespace };
  throw controllerErrors.error('controller-signer-elsewhere', fields);
}

function missing(row: TextSetting, example: string): never {
  throw controllerErrors.error('controller-option-missing', { option: flagOf(row), example });
}

function named(given: GivenText | undefined, rule: TextRule): string | undefined {
  if (given === undefined || rule.isRight(given.text)) return given?.text;
  const { expected, example } = rule;
  throw settingsErrors.error('setting-malformed', { setting: given.setting, value: given.text, expected, example });
}
