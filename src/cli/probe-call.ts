// The pair from where an actor stands, once (`probe check`) or as a small server (`probe serve`).
import type { Command } from 'commander';
import { seconds, type DurationMs } from '../clock.ts';
import { exitCodes } from '../errors.ts';
import { checkPairs, type PairRequest, type PairVerdict } from '../probe/check-pair.ts';
import { prepareCheck, prepareServe, type PreparedProbe, type ProbeRequest } from '../probe/prepare-check.ts';
import { startProbeServer } from '../probe/probe-server.ts';
import { trustFilePaths } from '../projection/trust-files.ts';
import type { ListenAddress } from '../settings/gateway-spec.ts';
import { parseDuration } from '../settings/quantities.ts';
import { isLoopback, parseListenAddress } from '../settings/parse-listen.ts';
import { isSwitchedOn, readQuantities } from '../settings/read-settings.ts';
import { switchSettings } from '../settings/text-settings.ts';
import { createTrustRegistry, type TrustRegistry } from '../transport/trust-registry.ts';
import { cliErrors } from './cli-errors.ts';
import type { CommandContext } from './command-context.ts';
import { gatewayTrustDir } from './gateway-folder.ts';
import { signalHeard } from './stop-signals.ts';
import { findRunningGateway } from './running-gateway-file.ts';
import { holdProcess } from './hold-process.ts';
import { settingSource } from './setting-options.ts';
import { knownState, stateFolderPath } from './state-folder.ts';

export type ProbeValues = {
  readonly ca?: string;
  readonly serverName?: string;
  readonly systemRoots?: string;
  /** false for --no-proxy */
  readonly proxy?: string | false;
  readonly dial?: string;
  /** of `check` */
  readonly wait?: string;
  readonly state?: string;
  readonly allowHost?: readonly string[];
};

const checkTimeout = seconds(15);

export type ProbeCall = { readonly values: ProbeValues; readonly command: Command; readonly context: CommandContext };

export async function checkUrls(urls: readonly string[], call: ProbeCall): Promise<void> {
  const { context, command, values } = call;
  const source = settingSource(command, context.io);
  const isJson = isSwitchedOn(switchSettings.json, source);
  const windowMs = values.wait === undefined ? undefined : parseDuration(values.wait, '--wait');
  const prepared = await prepareCheck(urls, requestFor(call));
  const { maxConnectionsPerTrust: maxConnections } = readQuantities(source);
  const registry = createTrustRegistry({ clock: context.io.clock, settings: { maxConnections } });
  const release = holdProcess();
  try {
    const pair = pairRequest(prepared, { registry, call, windowMs });
    const verdicts = await checkPairs(urls, pair, (verdict) => {
      context.io.stdout(isJson ? `${JSON.stringify(verdict)}\n` : verdictText(verdict));
    });
    if (verdicts.some(({ verdict }) => verdict !== 'intercepted')) context.finishWith(exitCodes.negative);
  } finally {
    release();
    await registry.close();
  }
}

type PairParts = {
  readonly registry: TrustRegistry;
  readonly call: ProbeCall;
  readonly windowMs: DurationMs | undefined;
};

function pairRequest(prepared: PreparedProbe, { registry, call, windowMs }: PairParts): PairRequest {
  const { dial } = call.values;
  return {
    registry,
    clock: call.context.io.clock,
    bundle: prepared.bundle,
    system: prepared.system,
    timeoutMs: checkTimeout,
    ...(prepared.proxy === undefined ? {} : { proxy: prepared.proxy }),
    ...(dial === undefined ? {} : { dial }),
    ...(windowMs === undefined ? {} : { patience: { windowMs, bundleNow: () => prepared.bundleFile.current() } }),
  };
}

function verdictText({ url, verdict, reason, remedy }: PairVerdict): string {
  const advice = verdict === 'intercepted' ? '' : `\n  ${remedy}`;
  return `${url}: ${verdict}: ${reason}${advice}\n`;
}

export async function serveProbe(listen: string, call: ProbeCall): Promise<void> {
  const { context, command, values } = call;
  const source = settingSource(command, context.io);
  const signals = signalHeard(context.io);
  const prepared = await prepareServe(requestFor(call));
  const log = context.createLog(isSwitchedOn(switchSettings.json, source));
  const { maxConnectionsPerTrust: maxConnections } = readQuantities(source);
  const registry = createTrustRegistry({ clock: context.io.clock, settings: { maxConnections } });
  try {
    const server = await startProbeServer({
      listen: guardedListen(listen, values.allowHost ?? []),
      ...{ registry, log, clock: context.io.clock },
      bundleFile: prepared.bundleFile,
      systemFile: prepared.systemFile,
      ...(prepared.proxy === undefined ? {} : { proxy: prepared.proxy }),
      ...(values.allowHost === undefined ? {} : { allowedHosts: values.allowHost }),
    });
    context.say(`leafgate probe on http://${server.address}/fetch?url=https://example.com/&roots=bundle`);
    await signals.first;
    await server.close();
  } finally {
    await registry.close();
  }
}

/** @throws probe-listen-unguarded: with `dial` a probe is a port scanner for whoever reaches it */
function guardedListen(text: string, allowedHosts: readonly string[]): ListenAddress {
  const listen = parseListenAddress(text);
  if (isLoopback(listen.address) || allowedHosts.length > 0) return listen;
  throw cliErrors.error('probe-listen-unguarded', { value: text });
}

function requestFor({ values, context }: ProbeCall): ProbeRequest {
  const { env, clock } = context.io;
  const state = knownState(stateFolderPath(values.state ?? env['LEAFGATE_STATE'], env));
  const running = findRunningGateway(state);
  const proxy =
    values.proxy === false
      ? undefined
      : (values.proxy ?? running?.proxyUrl ?? env['HTTPS_PROXY'] ?? env['https_proxy'] ?? '');
  // going direct in silence would judge another way than the one that was meant
  if (proxy === '') throw cliErrors.error('probe-no-gateway', { folder: state.folder });
  return {
    defaultCaFile: running?.caFile ?? trustFilePaths(gatewayTrustDir(state.gatewayDir)).caFile,
    now: clock.now(),
    ...(values.ca === undefined ? {} : { caFile: values.ca }),
    ...(values.serverName === undefined ? {} : { serverName: values.serverName }),
    ...(values.systemRoots === undefined ? {} : { systemRootsFile: values.systemRoots }),
    ...(proxy === undefined ? {} : { proxy }),
    ...(values.dial === undefined ? {} : { dial: values.dial }),
  };
}
