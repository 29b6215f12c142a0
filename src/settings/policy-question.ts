// What a person asks a policy: a host with or without a port, or a URL, and an actor. Pure.
import { askedNameFromText, parseAskedName } from '../names/parse-asked-name.ts';
import type { PolicyQuestion } from '../policy/policy-types.ts';
import { parseActorOption } from './actor-uri.ts';
import { splitPort } from './policy-flags.ts';
import { settingsErrors } from './settings-errors.ts';

const schemePorts: Readonly<Record<string, number>> = { 'https:': 443, 'http:': 80, 'wss:': 443, 'ws:': 80 };
const defaultPort = 443;

/** `api.example.com`, `api.example.com:8443`, `[2001:db8::1]:443` or a URL; port 443 unless said. @throws setting-malformed */
export function parsePolicyQuestion(text: string, actor: string | undefined): PolicyQuestion {
  const { host, port } = URL.canParse(text) && text.includes('://') ? ofUrl(new URL(text)) : splitPort(text);
  // every dot at its end goes, as in Envoy
  const name = parseAskedName(askedNameFromText(host.replace(/\.+$/, '')));
  if (name.kind === 'refused' || port === 'wrong') {
    const expected = 'a host with or without a port, or a URL';
    const example = 'api.example.com:443';
    throw settingsErrors.error('setting-malformed', { setting: 'HOST', value: text, expected, example });
  }
  return { host: name, port: port ?? defaultPort, ...(actor === undefined ? {} : { actor: parseActorOption(actor) }) };
}

function ofUrl({ hostname, port, protocol }: URL): ReturnType<typeof splitPort> {
  const host = hostname.replace(/^\[|\]$/g, '');
  return { host, port: port === '' ? schemePorts[protocol] : Number(port) };
}
