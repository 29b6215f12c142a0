// What a person chose for a gateway, read from flags and environment and checked as a whole: all problems at once.
// Must not know how a gateway is started.
import { LeafgateError } from '../errors.ts';
import type { Cidr } from '../names/name-types.ts';
import type { NamedEnvoy } from '../envoy/find-envoy.ts';
import type { ListenAddress, ResolveOverride } from '../settings/gateway-spec.ts';
import type { HealthListen } from '../observe/health-server.ts';
import { checkListenGuarded, parseDnsServer, parseListenAddress } from '../settings/parse-listen.ts';
import { parseCidrSetting, parseResolveOverride } from '../settings/parse-targets.ts';
import type { GivenText, Quantities, SettingSource } from '../settings/read-settings.ts';
import { givenTexts, isSwitchedOn, readQuantities } from '../settings/read-settings.ts';
import { quantitySettings } from '../settings/quantity-settings.ts';
import { flagOf, type TextSetting } from '../settings/setting-types.ts';
import { switchSettings, textSettings } from '../settings/text-settings.ts';
import { readFrontOptions, type FrontOptions } from './front-options.ts';
import { parseHealthTarget } from './health-target.ts';
import { readGatewayPolicy, type PolicyChoice } from './policy-choice.ts';
import { createProblems } from '../problems.ts';
import { readTransparentPort } from './transparent-options.ts';

export type GatewayOptions = {
  readonly listen: ListenAddress;
  readonly front: FrontOptions | undefined;
  readonly transparentPort: number | undefined;
  readonly policy: PolicyChoice;
  readonly allowFrom: readonly Cidr[];
  readonly resolve: readonly ResolveOverride[];
  readonly allowDestinations: readonly Cidr[];
  readonly originCaFiles: readonly string[];
  readonly envoy?: NamedEnvoy;
  readonly metrics?: HealthListen;
  readonly json: boolean;
  readonly allowEd25519: boolean;
  readonly dnsServers: readonly ListenAddress[];
  readonly quantities: Quantities;
  /** when it was given; the machine decides otherwise */
  readonly maxMemory: number | undefined;
};

/** @throws one error with every malformed value */
export function readGatewayOptions(source: SettingSource, listenByDefault: string): GatewayOptions {
  const problems = createProblems();
  const { attempt } = problems;
  const each = <Value>(row: TextSetting, parse: (given: GivenText) => Value): Value[] =>
    givenTexts(row, source).flatMap((given) => attempt(() => [parse(given)]) ?? []);

  const listen = attempt(() => readListen(source, listenByDefault));
  const metrics = each(textSettings.metrics, parseHealthTarget).at(-1);
  const [envoy] = each(textSettings.envoy, ({ text, setting }) => ({ path: text, setting })).slice(-1);
  const quantities = attempt(() => readQuantities(source));
  const options = {
    front: readFrontOptions(source, problems),
    policy: readGatewayPolicy(source, problems),
    allowFrom: each(textSettings.allowFrom, ({ text, setting }) => parseCidrSetting(text, setting)),
    resolve: each(textSettings.resolve, ({ text, setting }) => parseResolveOverride(text, setting)),
    allowDestinations: each(textSettings.allowDestination, ({ text, setting }) => parseCidrSetting(text, setting)),
    dnsServers: each(textSettings.dns, ({ text, setting }) => parseDnsServer(text, setting)),
    originCaFiles: givenTexts(textSettings.originCa, source).map(({ text }) => text),
    json: attempt(() => isSwitchedOn(switchSettings.json, source)) ?? false,
    allowEd25519: attempt(() => isSwitchedOn(switchSettings.allowEd25519, source)) ?? false,
    ...(metrics === undefined ? {} : { metrics }),
    ...(envoy === undefined ? {} : { envoy }),
  };
  const { allowFrom } = options;
  const transparentPort = readTransparentPort({ source, allowFrom, platform: process.platform }, problems);
  if (listen !== undefined) attempt(() => checkListenGuarded(listen, options.allowFrom));
  const listenTls = options.front?.listen;
  if (listenTls !== undefined)
    attempt(() => checkListenGuarded(listenTls, options.allowFrom, flagOf(textSettings.listenTls)));
  problems.throwAny();
  // both are there when nothing was thrown
  if (listen === undefined || quantities === undefined) throw LeafgateError.from('a setting was lost');
  const isMemoryGiven = givenTexts(quantitySettings.maxMemory, source).length > 0;
  return {
    ...options,
    listen,
    transparentPort,
    quantities,
    maxMemory: isMemoryGiven ? quantities.maxMemory : undefined,
  };
}

function readListen(source: SettingSource, byDefault: string): ListenAddress {
  const given = givenTexts(textSettings.listen, source).at(-1);
  return given === undefined ? parseListenAddress(byDefault) : parseListenAddress(given.text, given.setting);
}
