// Where `leafgate sds` is told to listen, and by TCP with what and for whom. What depends on files is not looked at here.
import type { AllowedClients } from '../settings/sds-server-settings.ts';
import { allowedSanRule } from '../settings/egress-gateway-sds.ts';
import type { ListenAddress } from '../settings/gateway-spec.ts';
import { parseListenAddress, parseListenTarget } from '../settings/parse-listen.ts';
import { givenNames, givenTexts, isSwitchedOn, type GivenText, type SettingSource } from '../settings/read-settings.ts';
import { environmentNameOf } from '../settings/setting-types.ts';
import { settingsErrors } from '../settings/settings-errors.ts';
import { switchSettings, textSettings, variableSettings } from '../settings/text-settings.ts';
import { parseHostName } from '../names/parse-host-name.ts';
import { channelErrors } from '../channel/channel-errors.ts';
import type { GatewayChannel } from '../channel/choose-channel.ts';
import { cliErrors } from './cli-errors.ts';

export type SdsListen = { readonly kind: 'unix'; readonly path: string } | ({ readonly kind: 'tcp' } & TcpListen);

export type TcpListen = {
  readonly address: ListenAddress;
  /** folder of the three files */
  readonly dir: string;
  /** what clients ask for; undefined: not compared */
  readonly serverName: string | undefined;
  /** undefined: nobody was named, which only plaintext may do */
  readonly clients: AllowedClients | undefined;
  /** the variable that chooses plaintext, as it was given */
  readonly insecure: string | undefined;
  /** what the files of a gateway say; undefined: there is none */
  readonly gatewaySays?: GatewayChannel;
};

/** Throws everything that is wrong with one option; `--listen` first. */
export function readSdsListen(text: string, source: SettingSource): SdsListen {
  if (text.startsWith('unix:')) {
    checkNoTcpOptions(source);
    const target = parseListenTarget(text);
    if (target.kind === 'unix') return target;
  }
  if (!text.startsWith(tcpPrefix)) throw cliErrors.error('sds-listen-unknown', { value: text });
  return {
    kind: 'tcp',
    address: parseListenAddress(text.slice(tcpPrefix.length)),
    dir: lastGiven(textSettings.tlsDir, source)?.text ?? tlsDirByDefault,
    serverName: readServerName(source),
    clients: readClients(source),
    insecure: insecureChoice(source),
  };
}

/** the variable that chooses plaintext, as it was given */
export function insecureChoice({ environment }: SettingSource): string | undefined {
  return environment[environmentNameOf(variableSettings.sdsInsecure)];
}

export const tcpPrefix = 'tcp:';
const tlsDirByDefault = textSettings.tlsDir.default ?? '';

function checkNoTcpOptions(source: SettingSource): void {
  const rows = [textSettings.tlsDir, textSettings.serverName, textSettings.allowedSan];
  const options = givenNames(rows, [switchSettings.allowAnyClient], source);
  if (options.length > 0) throw cliErrors.error('sds-option-needs-tcp', { options: options.join(', ') });
}

function lastGiven(row: typeof textSettings.tlsDir, source: SettingSource): GivenText | undefined {
  return givenTexts(row, source).at(-1);
}

function readServerName(source: SettingSource): string | undefined {
  const given = lastGiven(textSettings.serverName, source);
  if (given === undefined) return undefined;
  const name = parseHostName(given.text);
  if (name !== undefined) return name;
  const expected = 'a DNS name without a wildcard';
  throw settingsErrors.error('setting-malformed', {
    ...{ setting: given.setting, value: given.text, expected, example: 'sds.example.com' },
  });
}

function readClients(source: SettingSource): AllowedClients | undefined {
  const listed = givenTexts(textSettings.allowedSan, source);
  const isAnyAllowed = isSwitchedOn(switchSettings.allowAnyClient, source);
  if (isAnyAllowed && listed.length > 0) throw channelErrors.error('channel-clients-contradict');
  if (isAnyAllowed) return { kind: 'any' };
  if (listed.length === 0) return undefined;
  return { kind: 'listed', names: new Set(listed.map(readSan)) };
}

function readSan({ text, setting }: GivenText): string {
  if (allowedSanRule.isRight(text)) return text;
  const { expected, example } = allowedSanRule;
  throw settingsErrors.error('setting-malformed', { setting, value: text, expected, example });
}
