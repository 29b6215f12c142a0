// A generated gateway with everything that it needs to work: leaves from an SDS server in the test's own process, names
// from a scripted DNS server, origins of one authority, and its access log read as records.
import { readFileSync } from 'node:fs';
import { epoch } from '../../src/clock.ts';
import type { AccessRecord } from '../../src/observe/access-record.ts';
import { createRecordJoiner } from '../../src/observe/record-joiner.ts';
import type { GatewaySpec } from '../../src/settings/gateway-spec.ts';
import { parseListenAddress } from '../../src/settings/parse-listen.ts';
import { parseCidrSetting } from '../../src/settings/parse-targets.ts';
import { gatewaySpec } from './gateway-spec.ts';
import { startGeneratedGateway, type GeneratedGateway } from './generated-gateway.ts';
import { startScriptedDns, type DnsScript, type ScriptedDns } from './scripted-dns.ts';
import { anchorPem, createTestPool, startSdsUnderTest, type SdsUnderTest } from './sds-under-test.ts';
import { createTempFolder, type TempFolder } from './temp-folder.ts';
import { createTestAuthority, type TestAuthority } from './test-certificates.ts';
import { waitFor } from './wait-for.ts';

export type WholeGateway = Omit<GeneratedGateway, 'stop'> & {
  readonly spec: GatewaySpec;
  readonly folder: TempFolder;
  readonly dns: ScriptedDns;
  readonly sds: SdsUnderTest;
  /** what clients trust */
  readonly caPem: string;
  /** of what was logged so far; a tunnel that showed nothing has one as soon as it ended */
  records(): readonly AccessRecord[];
  recordOf(what: string, fits: (record: AccessRecord) => boolean): Promise<AccessRecord>;
  stop(): Promise<void>;
};

export type WholeGatewayOptions = {
  readonly envoy: string;
  /** who signed the certificates of the origins */
  readonly origins?: TestAuthority;
  readonly names?: { readonly [name: string]: DnsScript };
  readonly ttlSeconds?: number;
  /** exceptions to the destination guard; loopback as a whole by default, where the origins of tests are */
  readonly allowDestinations?: readonly string[];
  readonly spec?: Partial<GatewaySpec>;
};

export async function startWholeGateway(options: WholeGatewayOptions): Promise<WholeGateway> {
  const { envoy, origins = createTestAuthority(), allowDestinations = ['127.0.0.0/8', '::1/128'] } = options;
  const folder = createTempFolder();
  const dns = await startScriptedDns(options);
  const spec = gatewaySpec(
    {
      listen: parseListenAddress('127.0.0.1:0'),
      dnsServers: [parseListenAddress(`127.0.0.1:${dns.port}`)],
      allowDestinations: allowDestinations.map((text) => parseCidrSetting(text, '--allow-destination')),
      ...options.spec,
    },
    folder.path,
  );
  const pool = createTestPool();
  const sds = await startSdsUnderTest({ socket: spec.paths.sdsSocket, pool });
  const gateway = await startGeneratedGateway(envoy, spec, origins.pem);
  const records = (): readonly AccessRecord[] => recordsIn(spec.paths.accessLog);
  return {
    ...gateway,
    ...{ spec, folder, dns, sds, records },
    caPem: anchorPem(pool),
    recordOf: (what, fits) => waitFor(`a record of ${what}`, () => records().find(fits)),
    stop: async () => {
      await gateway.stop();
      await sds.stop();
      await dns.close();
      folder.remove();
    },
  };
}

function recordsIn(accessLog: string): readonly AccessRecord[] {
  const joiner = createRecordJoiner({ lineLost: () => undefined });
  const text = readFileSync(accessLog, 'utf8');
  const lines = text.slice(0, text.lastIndexOf('\n') + 1).split('\n');
  const taken = lines.filter((line) => line !== '').flatMap((line) => joiner.take(line, epoch(0)));
  return [...taken, ...joiner.sweep(epoch(Number.MAX_SAFE_INTEGER))];
}
