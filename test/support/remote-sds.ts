// Both sides of an SDS server on another machine: what the server is given, and the cluster that the product's generator makes
// for Envoy, with its secrets as files beside it.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readableFiles } from '../../src/bootstrap/readable-files.ts';
import { sdsCluster, sdsDocuments } from '../../src/bootstrap/sds-cluster.ts';
import { examineChannelMaterial, type ChannelMaterial } from '../../src/channel/channel-material.ts';
import type { AllowedClients } from '../../src/settings/sds-server-settings.ts';
import { systemClock } from '../../src/clock.ts';
import { parseHostName } from '../../src/names/parse-host-name.ts';
import { parseIpAddress } from '../../src/names/ip-address.ts';
import type { HostName, IpAddress } from '../../src/names/name-types.ts';
import type { RemoteSds } from '../../src/settings/gateway-spec.ts';
import { caPem, issueCredential } from './credential-workshop.ts';
import type { MadeCa } from './ca-workshop.ts';
import { channelFilesOf, clientName, serverName, writeChannelFiles, type ChannelFiles } from './channel-workshop.ts';
import { gatewaySpec } from './gateway-spec.ts';

export type RemoteSdsWorld = {
  readonly spec: RemoteSds;
  /** of Envoy's `static_resources.clusters` */
  readonly cluster: object;
  /** folder of Envoy's certificate, key and CA */
  readonly clientDir: string;
};

export type RemoteSdsOptions = {
  /** everything lies in it */
  readonly folder: string;
  readonly ports: readonly number[];
  readonly ca: MadeCa;
  readonly serverName?: string;
};

export function createRemoteSds({
  folder,
  ports,
  ca,
  serverName: name = serverName,
}: RemoteSdsOptions): RemoteSdsWorld {
  const clientDir = join(folder, 'client');
  writeChannelFiles(clientDir, clientFilesOf(ca));
  const remoteSds: RemoteSds = {
    endpoints: ports.map((port) => ({ host: { kind: 'ip', address: loopback() }, port })),
    tls: { serverName: hostName(name), verifiesServer: true, certificateDir: clientDir },
  };
  const spec = gatewaySpec({ remoteSds }, folder);
  mkdirSync(spec.paths.renderedDir, { recursive: true });
  for (const [file, document] of sdsDocuments(spec)) {
    writeFileSync(join(spec.paths.renderedDir, file), readableFiles.followed(document));
  }
  return { spec: remoteSds, cluster: sdsCluster('sds', spec), clientDir };
}

export function clientFilesOf(ca: MadeCa, cas: readonly MadeCa[] = [ca]): ChannelFiles {
  const { certificatePem, keyPem } = issueCredential(ca, { dnsNames: [clientName], purposes: ['client'] });
  return { 'tls.crt': certificatePem, 'tls.key': keyPem, 'ca.crt': cas.map(caPem).join('') };
}

export const listedClients: AllowedClients = { kind: 'listed', names: new Set([clientName]) };

export function materialOf(files: ChannelFiles): ChannelMaterial {
  const named = (name: keyof ChannelFiles) => ({ text: Buffer.from(files[name]), source: name });
  const texts = { certificate: named('tls.crt'), key: named('tls.key'), roots: named('ca.crt') };
  return examineChannelMaterial(texts, { serverName: undefined, now: systemClock.now() });
}

export function serverMaterial(ca: MadeCa): ChannelMaterial {
  return materialOf(channelFilesOf(ca));
}

function loopback(): IpAddress {
  const address = parseIpAddress('127.0.0.1');
  if (address === undefined) throw new Error('no address');
  return address;
}

function hostName(text: string): HostName {
  const name = parseHostName(text);
  if (name === undefined) throw new Error(`no host name: ${text}`);
  return name;
}
