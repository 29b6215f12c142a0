// From what a person chose to the GatewaySpec that Envoy's files are made from.
import type { Cidr, IpAddress } from '../names/name-types.ts';
import { networkInterfaces } from 'node:os';
import { isUnspecified, parseIpAddress } from '../names/ip-address.ts';
import { parseCidr } from '../names/cidr.ts';
import { clientRateOf } from '../settings/client-rate.ts';
import type { PolicyFile } from '../settings/policy-file.ts';
import type { GatewaySpec, ListenAddress, TransparentListener } from '../settings/gateway-spec.ts';
import { selfCheckHost } from '../settings/gateway-spec.ts';
import { envoyHeapBytes } from './memory-limit.ts';
import { connectionsWithin, openFilesLimit } from './open-files.ts';
import type { GatewayFolder } from './gateway-folder.ts';
import type { GatewayOptions } from './gateway-options.ts';

/** Where the gateway really listens: the ports of the options may be 0. */
export type BoundListeners = {
  readonly listen: ListenAddress;
  readonly front: ListenAddress | undefined;
  readonly transparent: TransparentListener | undefined;
};

export function gatewaySpecFor(
  options: GatewayOptions,
  bound: BoundListeners,
  folder: GatewayFolder,
  { policy, dryRun, origins }: PolicyFile,
): GatewaySpec {
  const { listen } = bound;
  const isEverywhere =
    bound.transparent !== undefined ||
    [listen, bound.front].some((at) => at !== undefined && isUnspecified(at.address));
  return {
    listen,
    takesBothFamilies: false,
    ownAddresses: isEverywhere ? machineAddresses() : [],
    knowsOwnAddresses: true,
    allowFrom: withOwnMachine(options),
    policy,
    dryRun,
    resolve: options.resolve,
    allowDestinations: options.allowDestinations,
    dnsServers: options.dnsServers,
    limits: {
      maxConnections: connectionsWithin(openFilesLimit(), options.quantities.maxConnections),
      maxHeapBytes: envoyHeapBytes({
        given: options.maxMemory,
        byDefault: options.quantities.maxMemory,
        constrained: process.constrainedMemory(),
      }),
      clientRate: clientRateOf(options.quantities.clientRate),
    },
    paths: {
      sdsSocket: folder.sdsSocket,
      adminSocket: folder.adminSocket,
      accessLog: folder.accessLog,
      renderedDir: folder.renderedDir,
      originRoots: folder.originRoots,
      reloadDir: folder.reloadDir,
    },
    remoteSds: undefined,
    selfCheck: {
      host: selfCheckHost,
      socketPath: folder.selfCheckSocket,
      caFile: folder.selfCheckCaFile,
      isCaFollowed: false,
    },
    front: options.front === undefined ? undefined : { ...options.front, listen: bound.front },
    transparent: bound.transparent,
    originCredentials: origins.map((credential) => ({ ...credential, digest: '' })),
  };
}

/** The self-check comes from this machine, so that it may always connect: from loopback, or from the listened address. */
function withOwnMachine({ allowFrom, listen }: GatewayOptions): readonly Cidr[] {
  if (allowFrom.length === 0) return [];
  const own = ['127.0.0.0/8', '::1/128', `${listen.address.text}/${listen.address.octets.length * 8}`];
  return [...allowFrom, ...own.flatMap((text) => parseCidr(text) ?? [])];
}

function machineAddresses(): readonly IpAddress[] {
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  return all.flatMap(({ address }) => parseIpAddress(address) ?? []);
}
