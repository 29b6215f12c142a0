// A gateway's spec for tests of the generator: everything by default, each part open to change. Paths lie in one folder.
import { join } from 'node:path';
import { policyAllowingAny } from '../../src/policy/allow-list.ts';
import { selfCheckHost, type GatewaySpec } from '../../src/settings/gateway-spec.ts';
import { parseListenAddress } from '../../src/settings/parse-listen.ts';

export function gatewaySpec(changes: Partial<GatewaySpec> = {}, folder = '/run/leafgate-test'): GatewaySpec {
  return {
    listen: parseListenAddress('127.0.0.1:3128'),
    takesBothFamilies: false,
    ownAddresses: [],
    knowsOwnAddresses: true,
    allowFrom: [],
    policy: policyAllowingAny(),
    dryRun: undefined,
    resolve: [],
    allowDestinations: [],
    dnsServers: [],
    limits: { maxConnections: 8000, maxHeapBytes: 2 ** 30, clientRate: undefined },
    paths: {
      sdsSocket: join(folder, 'sds.sock'),
      adminSocket: join(folder, 'admin.sock'),
      accessLog: join(folder, 'access.json'),
      renderedDir: join(folder, 'rendered'),
      originRoots: join(folder, 'roots', 'roots.pem'),
      reloadDir: join(folder, 'reload'),
    },
    remoteSds: undefined,
    selfCheck: {
      host: selfCheckHost,
      socketPath: join(folder, 'self-check.sock'),
      caFile: join(folder, 'self-check-ca.pem'),
      isCaFollowed: false,
    },
    front: undefined,
    transparent: undefined,
    originCredentials: [],
    ...changes,
  };
}
