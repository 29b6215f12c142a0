// The SDS server's TCP port: what a start finds decides between mutual TLS, plaintext and a refusal, all that is wrong is told
// at once, and certificates are followed from then on. A new set that is no good leaves the old one in force, loudly.
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { minutes, repeat, type Clock } from '../clock.ts';
import { startAudit } from '../start-audit.ts';
import { LeafgateError, problemsOf } from '../errors.ts';
import { systemCode } from '../system-error.ts';
import { channelErrors } from '../channel/channel-errors.ts';
import { examineChannelMaterial, rootsEndAt, type ChannelMaterial } from '../channel/channel-material.ts';
import { channelFiles, chooseChannel, type ChannelFile } from '../channel/choose-channel.ts';
import { ClearChannel } from '../channel/clear-channel.ts';
import type { AllowedClients } from '../settings/sds-server-settings.ts';
import { TlsChannel } from '../channel/tls-channel.ts';
import { maxTcpConnections } from '../sds/sds-settings.ts';
import type { SdsServer } from '../sds/sds-server.ts';
import { listenAddressText } from '../settings/parse-listen.ts';
import { openCheckedFiles, type CheckedFiles } from './checked-files.ts';
import { channelEvents } from './channel-wiring.ts';
import { createExpiryWarnings } from './expiry-warnings.ts';
import type { MintingPlace } from './minting.ts';
import { problemsText } from './problems-text.ts';
import type { TcpListen } from './sds-listen.ts';
import type { Surroundings } from './surroundings.ts';

export type SdsChannel = {
  readonly place: MintingPlace;
  /** `tcp:127.0.0.1:8443`, with the real port once it is open */
  readonly text: () => string;
  /** what to know although peers are served: a set of files that was not taken */
  readonly reasons: () => readonly string[];
  /** others may connect from now on, and who may not any more is cut off; plaintext asks nobody */
  readonly useClients: (clients: AllowedClients) => void;
};

/** Looks at files and choices; nothing listens before `place.open`. Throws everything that is wrong. */
export async function prepareSdsChannel(listen: TcpListen, surroundings: Surroundings): Promise<SdsChannel> {
  const { dir, insecure, gatewaySays } = listen;
  const choice = chooseChannel({ dir, insecure, gatewaySays, present: await filesIn(dir) });
  if (choice.kind === 'plaintext') return clearChannel(listen, surroundings);
  const { clients, files } = await openTlsFiles(listen, surroundings.clock);
  if (choice.isInsecureAsked) {
    surroundings.log.warn('plaintext was asked for and is not spoken: the files for TLS are there', { path: dir });
  }
  const channel = tlsChannel(listen, { ...surroundings, clients, files });
  if (!choice.isGatewayInClear) return channel;
  surroundings.log.error(`${clearGateway}: take them out of these pods, or enable spec.sds.tls`, { path: dir });
  return { ...channel, reasons: () => [clearGateway, ...channel.reasons()] };
}

const clearGateway =
  'mutual TLS is spoken, since its files are there, and the Envoys of the gateway ask in plaintext: none of them is let in';

async function filesIn(dir: string): Promise<ReadonlySet<ChannelFile>> {
  const names = Object.values(channelFiles);
  const isThere = await Promise.all(names.map((name) => exists(join(dir, name))));
  return new Set(names.filter((_, index) => isThere[index]));
}

/** what is there and cannot be looked at is not missing: reading it will say why */
async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (thrown) {
    return !['ENOENT', 'ENOTDIR'].includes(systemCode(thrown) ?? '');
  }
}

type TlsFiles = { readonly files: CheckedFiles<ChannelMaterial>; readonly clients: AllowedClients };

async function openTlsFiles({ dir, serverName, clients, address }: TcpListen, clock: Clock): Promise<TlsFiles> {
  const named = (file: ChannelFile): { path: string; source: string } => ({
    path: join(dir, file),
    source: join(dir, file),
  });
  const { certificate, key, roots } = channelFiles;
  const sources = [named(certificate), named(key), named(roots)] as const;
  const noClients =
    clients === undefined
      ? [channelErrors.error('channel-clients-missing', { listen: `tcp:${listenAddressText(address)}` })]
      : [];
  const files = await openCheckedFiles({
    files: sources,
    clock,
    check: ([certificateText = nothing, keyText = nothing, rootsText = nothing], now) =>
      examineChannelMaterial(
        {
          certificate: { text: certificateText, source: sources[0].source },
          key: { text: keyText, source: sources[1].source },
          roots: { text: rootsText, source: sources[2].source },
        },
        { serverName, now },
      ),
  }).catch((thrown: unknown) => {
    const [first, ...more] = [...noClients, ...problemsOf(thrown)];
    throw first === undefined ? LeafgateError.from(thrown) : LeafgateError.all([first, ...more]);
  });
  if (clients === undefined) throw noClients[0] ?? LeafgateError.from('no client was named');
  return { files, clients };
}

const nothing = new Uint8Array();

function tlsChannel(listen: TcpListen, parts: Surroundings & TlsFiles): SdsChannel {
  const { files, clock, closers } = parts;
  let { clients } = parts;
  let open: TlsChannel | undefined;
  let port = listen.address.port;
  let trouble: string | undefined;
  const openPort = async (server: SdsServer): Promise<void> => {
    const channel = new TlsChannel({
      ...{ clients, clock, material: files.current(), events: channelEvents(parts) },
      serve: (socket) => server.serve(socket),
      maxConnections: maxTcpConnections,
    });
    open = channel;
    closers.add('SDS port', () => channel.close());
    await channel.listen(listen.address);
    port = channel.port;
    tellNames(listen, files.current(), parts);
    followFiles(parts, {
      path: listen.dir,
      use: (material) => channel.useMaterial(material),
      note: (text) => (trouble = text),
    });
    closers.add('SDS certificates', () => files.close());
  };
  return {
    place: { kind: 'tls', maxConnections: maxTcpConnections, open: openPort, lost: () => undefined },
    text: () => textOf(listen, port),
    reasons: () => (trouble === undefined ? [] : [`the last good certificates of the SDS port are served: ${trouble}`]),
    useClients: (allowed) => {
      clients = allowed;
      open?.useClients(allowed);
    },
  };
}

function tellNames({ serverName, dir }: TcpListen, { certificate }: ChannelMaterial, { log }: Surroundings): void {
  if (serverName !== undefined) return;
  const names = (certificate.subjectAltName?.names ?? []).flatMap((one) => (one.kind === 'dns' ? [one.text] : []));
  log.info('no name was compared with the certificate of the SDS port: --server-name says which clients ask for', {
    ...{ path: dir, detail: `it is for ${names.slice(0, shownNames).join(', ') || 'no DNS name'}` },
  });
}

const shownNames = 5;

type Following = {
  readonly path: string;
  readonly use: (material: ChannelMaterial) => void;
  readonly note: (trouble: string | undefined) => void;
};

function followFiles({ files, clock, log, metrics, closers }: Surroundings & TlsFiles, following: Following): void {
  const { path, use, note } = following;
  const warnings = createExpiryWarnings({ clock, log, path, sentence: 'a certificate of the SDS port will end' });
  const tellDates = (material: ChannelMaterial): void => {
    metrics.set('leafgate_sds_channel_not_after_seconds', inSeconds(material.certificate.notAfter), { of: 'leaf' });
    const end = rootsEndAt(material, clock.now());
    metrics.set('leafgate_sds_channel_not_after_seconds', inSeconds(end ?? 0), { of: 'ca' });
    warnings.look([material.certificate, ...material.roots]);
  };
  const hourly = repeat(clock, minutes(60), () => tellDates(files.current()));
  closers.add('dates of SDS certificates', () => hourly.cancel());
  tellDates(files.current());
  files.follow({
    taken: (material) => {
      note(undefined);
      use(material);
      metrics.count('leafgate_certificate_reloads_total', { of: 'sds-channel', taken: 'yes' });
      log.info('certificates of the SDS port taken', { path, serial: material.certificate.serialHex });
      tellDates(material);
    },
    refused: (error, isInForce) => {
      note(problemsText(problemsOf(error)));
      if (!isInForce) metrics.count('leafgate_certificate_reloads_total', { of: 'sds-channel', taken: 'no' });
      const sentence = isInForce
        ? 'the certificates of the SDS port are no good any more'
        : 'certificates of the SDS port refused, the last good ones stay';
      for (const problem of problemsOf(error)) {
        log.error(sentence, { path, detail: problem.message, code: problem.code });
      }
    },
  });
}

function clearChannel(listen: TcpListen, parts: Surroundings): SdsChannel {
  const { clock, log, closers } = parts;
  let port = listen.address.port;
  const open = async (server: SdsServer): Promise<void> => {
    const channel = new ClearChannel({ events: channelEvents(parts), serve: (socket) => server.serve(socket) });
    closers.add('SDS port', () => channel.close());
    await channel.listen(listen.address);
    port = channel.port;
    const warn = (): void =>
      log.warn(
        'the SDS server speaks plaintext: whoever reaches its port gets leaf keys, and so does whoever reads on the way',
        {
          ...{ reason: 'audit', detail: `chosen by ${choiceOf(listen)}`, path: textOf(listen, port) },
        },
      );
    const audit = startAudit(clock, warn);
    closers.add('audit of plaintext', () => audit.cancel());
  };
  return {
    place: { kind: 'plaintext', maxConnections: maxTcpConnections, open, lost: () => undefined },
    text: () => textOf(listen, port),
    reasons: () => [`the SDS server speaks plaintext, as ${choiceOf(listen)} says`],
    useClients: () => undefined,
  };
}

function choiceOf({ gatewaySays }: TcpListen): string {
  return gatewaySays === undefined ? 'LEAFGATE_SDS_INSECURE' : 'LEAFGATE_SDS_INSECURE beside spec.sds.tls.enabled';
}

function textOf({ address }: TcpListen, port: number): string {
  return `tcp:${listenAddressText({ ...address, port })}`;
}

function inSeconds(ms: number): number {
  return Math.floor(ms / 1000);
}
