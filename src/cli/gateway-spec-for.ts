// From what a person chose to the GatewaySpec that Envoy's files are made from.
import type { Cidr } from '../names/name-types.ts';
import { parseCidr } from '../names/cidr.ts';
import { policyAllowingAny } from '../policy/allow-list.ts';
import type { GatewaySpec } from '../settings/gateway-spec.ts';
import { selfCheckHost } from '../settings/gateway-spec.ts';
import type { GatewayFolder } from './gateway-folder.ts';
import type { GatewayOptions } from './gateway-options.ts';

export function gatewaySpecFor(options: GatewayOptions, folder: GatewayFolder): GatewaySpec {
  return {
    listen: options.listen,
    allowFrom: withOwnMachine(options),
    policy: policyAllowingAny(),
    resolve: options.resolve,
    allowDestinations: options.allowDestinations,
    dnsServers: [],
    limits: { maxConnections: options.quantities.maxConnections, maxHeapBytes: options.quantities.maxHeap },
    paths: {
      sdsSocket: folder.sdsSocket,
      adminSocket: folder.adminSocket,
      accessLog: folder.accessLog,
      renderedDir: folder.renderedDir,
      originRootsDir: folder.originRootsDir,
    },
    selfCheck: { host: selfCheckHost, socketPath: folder.selfCheckSocket, caFile: folder.selfCheckCaFile },
  };
}

/** The self-check comes from this machine, so that it may always connect: from loopback, or from the listened address. */
function withOwnMachine({ allowFrom, listen }: GatewayOptions): readonly Cidr[] {
  if (allowFrom.length === 0) return [];
  const own = ['127.0.0.0/8', '::1/128', `${listen.address.text}/${listen.address.octets.length * 8}`];
  return [...allowFrom, ...own.flatMap((text) => parseCidr(text) ?? [])];
}
