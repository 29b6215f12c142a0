// From an EgressGateway to the GatewaySpec of its pods: the same value that flags parse into, with the places of a pod in it.
import { join } from 'node:path';
import { frontCertificateName, frontKeyName } from '../bootstrap/proxy-front.ts';
import { LeafgateError } from '../errors.ts';
import { parseCidr } from '../names/cidr.ts';
import { parseHostName } from '../names/parse-host-name.ts';
import { isIpv6 } from '../names/ip-address.ts';
import type { Cidr, HostPattern } from '../names/name-types.ts';
import type { ClientCertificateChoice, EgressGateway } from '../settings/egress-gateway-types.ts';
import { heapWithin } from '../settings/envoy-heap.ts';
import {
  selfCheckHost,
  type GatewaySpec,
  type ListenAddress,
  type ShownCredential,
  type ProxyFront,
  type RemoteSds,
} from '../settings/gateway-spec.ts';
import { parseListenAddress } from '../settings/parse-listen.ts';
import { podFiles, podPaths, sdsPort } from '../settings/pod-layout.ts';

/** `sdsServerName`: of an SDS server outside of the pod; undefined: the one in it */
export function podGatewaySpec({ spec }: EgressGateway, sdsServerName?: string): GatewaySpec {
  const terms = spec.gateway;
  const hasIpv6 = terms.allowFrom.some(({ base }) => isIpv6(base));
  return {
    listen: everywhere(hasIpv6, terms.listenPort),
    takesBothFamilies: hasIpv6,
    ownAddresses: [],
    knowsOwnAddresses: false,
    allowFrom: [...terms.allowFrom, ...ownMachine],
    policy: spec.policy,
    dryRun: spec.dryRun,
    resolve: terms.resolve,
    allowDestinations: terms.allowDestinations,
    dnsServers: terms.dnsServers,
    limits: {
      maxConnections: terms.maxConnections,
      maxHeapBytes: heapWithin(terms.maxMemoryBytes),
      clientRate: terms.clientRate,
    },
    paths: {
      sdsSocket: podPaths.sdsSocket,
      adminSocket: podPaths.adminSocket,
      accessLog: podPaths.accessLog,
      renderedDir: podPaths.gatewayDir,
      originRoots: join(podPaths.gatewayDir, podFiles.originRoots),
      reloadDir: undefined,
    },
    remoteSds: sdsServerName === undefined ? undefined : remoteSdsOf(spec, sdsServerName),
    selfCheck: {
      host: selfCheckHost,
      socketPath: podPaths.selfCheckSocket,
      caFile: podPaths.selfCheckCa,
      isCaFollowed: true,
    },
    front: frontOf(spec, hasIpv6),
    transparent: undefined,
    originCredentials: credentialsOf(spec.origins.clientCertificates),
  };
}

/** the sidecar's self-check comes from there */
const ownMachine: readonly Cidr[] = ['127.0.0.0/8', '::1/128'].flatMap((text) => parseCidr(text) ?? []);

function everywhere(hasIpv6: boolean, port: number): ListenAddress {
  return parseListenAddress(`${hasIpv6 ? '[::]' : '0.0.0.0'}:${port}`);
}

function remoteSdsOf({ sds }: EgressGateway['spec'], name: string): RemoteSds {
  const serverName = parseHostName(name);
  // made of names that Kubernetes has looked at
  if (serverName === undefined) throw LeafgateError.from(`${name} is no host name`);
  return {
    endpoints: [{ host: { kind: 'dns', host: serverName }, port: sdsPort }],
    tls:
      sds.tls?.enabled === false
        ? undefined
        : {
            ...{ serverName, verifiesServer: sds.tls?.insecureSkipVerify !== true },
            certificateDir: podPaths.sdsClientDir,
          },
  };
}

function frontOf({ servingTls, clients, gateway }: EgressGateway['spec'], hasIpv6: boolean): ProxyFront | undefined {
  if (servingTls === undefined) return undefined;
  return {
    listen: gateway.listenTlsPort === undefined ? undefined : everywhere(hasIpv6, gateway.listenTlsPort),
    certificateDir: podPaths.servingDir,
    clientCaFile: clients.caBundle === undefined ? undefined : join(podPaths.gatewayDir, podFiles.clientRoots),
  };
}

function credentialsOf(choices: readonly ClientCertificateChoice[]): readonly ShownCredential[] {
  return [...hostsBySecret(choices)].map(([secret, hosts]) => {
    const dir = originCertificateDir(secret);
    return {
      name: secret,
      hosts,
      certificateFile: join(dir, frontCertificateName),
      keyFile: join(dir, frontKeyName),
      caFile: undefined,
      // Envoy follows the mounted files by itself
      digest: '',
    };
  });
}

/** One Secret may be listed more than once: it is mounted once, and its hosts are those of all entries. */
function hostsBySecret(choices: readonly ClientCertificateChoice[]): ReadonlyMap<string, readonly HostPattern[]> {
  const bySecret = new Map<string, readonly HostPattern[]>();
  for (const { secretName, hosts } of choices)
    bySecret.set(secretName, [...(bySecret.get(secretName) ?? []), ...hosts]);
  return bySecret;
}

export function originCertificateDir(secret: string): string {
  return join(podPaths.originCertificatesDir, secret);
}
