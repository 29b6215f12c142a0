// `leafgate doctor`: gathers every fact, judges them and prints what was found.
import { runChecks } from '../../doctor/check-types.ts';
import { doctorChecks } from '../../doctor/doctor-checks.ts';
import type { DoctorFacts, HandshakeFacts } from '../../doctor/doctor-facts.ts';
import { listenAddressText } from '../../settings/parse-listen.ts';
import { isSwitchedOn, type SettingSource } from '../../settings/read-settings.ts';
import { switchSettings, textSettings } from '../../settings/text-settings.ts';
import type { CommandContext } from '../command-context.ts';
import { readGatewayOptions, type GatewayOptions } from '../gateway-options.ts';
import { sweepRunFolders } from '../run-folders.ts';
import { findRunningGateway, type RunningGatewayNote } from '../running-gateway-file.ts';
import { withRunningSettings } from '../running-settings.ts';
import { chosenState } from '../state-folder.ts';
import { gatherEnvironment, gatherGivenFiles } from './gather-environment.ts';
import { gatherEnvoy } from './gather-envoy.ts';
import { gatherGateway, gatherListen, gatherTrust } from './gather-gateway.ts';
import { gatherMachine } from './gather-machine.ts';
import { gatherPool, gatherSocketPath, gatherState } from './gather-state.ts';
import { printReports } from './print-reports.ts';
import { tryThroughRunning, tryThroughTemporary, type TemporaryParts } from './try-handshake.ts';

export async function runDoctor(source: SettingSource, context: CommandContext): Promise<void> {
  const isJson = isSwitchedOn(switchSettings.json, source);
  const note = findRunningGateway(chosenState(source, context.io.env));
  const effective = note === undefined ? source : withRunningSettings(source, note.settings);
  if (note !== undefined && !isJson) {
    context.say(`options that are not given here are those of the running gateway (process ${note.pid})`);
  }
  const options = readGatewayOptions(effective, textSettings.listen.default ?? '');
  const facts = await gatherFacts(options, source, context);
  printReports(runChecks(doctorChecks, facts), isJson, context);
}

async function gatherFacts(
  options: GatewayOptions,
  source: SettingSource,
  { io }: CommandContext,
): Promise<DoctorFacts> {
  const { env, clock } = io;
  const state = chosenState(source, env);
  const now = clock.now();
  const { facts: poolFacts, pool } = await gatherPool(state, now, options.allowEd25519);
  const running = await gatherGateway(state);
  const gateway = running.facts;
  const proxyUrl = gateway.kind === 'running' ? gateway.proxyUrl : undefined;
  const wantedConnections = options.quantities.maxConnections;
  const [machine, envoy, listen, trust, environment, files] = await Promise.all([
    gatherMachine({ folder: state.folder, wantedConnections, ...nameServersOf(options) }),
    gatherEnvoy({ named: options.envoy, env }),
    gatherListen(options, gateway),
    gatherTrust(state, pool),
    gatherEnvironment(env, proxyUrl, pool),
    gatherGivenFiles(options, pool, clock),
  ]);
  const before = {
    ...{ now, machine, envoy, listen, trust, environment, files, gateway, pool: poolFacts },
    ...{ state: gatherState(state), socketPath: gatherSocketPath(state) },
  };
  const poolFile = pool === undefined ? undefined : state.poolFile;
  return { ...before, handshake: await tryHandshake(before, running.note, { io, options, poolFile }) };
}

/** `--dns`; else what the system names */
function nameServersOf({ dnsServers }: GatewayOptions): { readonly nameServers?: readonly string[] } {
  return dnsServers.length === 0 ? {} : { nameServers: dnsServers.map(listenAddressText) };
}

/** through the gateway that runs, else through one of its own, where that can be started */
async function tryHandshake(
  { gateway, envoy }: Omit<DoctorFacts, 'handshake'>,
  note: RunningGatewayNote | undefined,
  parts: TemporaryParts,
): Promise<HandshakeFacts> {
  if (note !== undefined) return tryThroughRunning(note, parts.io.clock);
  if (gateway.kind === 'changing') return { kind: 'skipped', why: 'the gateway is starting or stopping' };
  if (envoy.search.kind !== 'found') return { kind: 'skipped', why: 'there is no Envoy to try it with' };
  sweepRunFolders();
  return tryThroughTemporary(parts);
}
