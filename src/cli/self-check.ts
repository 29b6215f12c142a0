// The self-check: the pair through the running Envoy against the built-in origin. Only a gateway whose leaf the
// projected bundle verifies, and the system's roots do not, counts as up.
import type { Clock } from '../clock.ts';
import { seconds } from '../clock.ts';
import type { Metrics } from '../observe/create-metrics.ts';
import type { Log } from '../observe/log.ts';
import { originRoots } from '../pool/origin-roots.ts';
import { checkPair, type PairVerdict } from '../probe/check-pair.ts';
import { parseHttpProxy } from '../transport/http-proxy.ts';
import { parseServerTrust, type ServerTrust } from '../transport/server-trust.ts';
import { createTrustRegistry } from '../transport/trust-registry.ts';
import { selfCheckHost } from '../settings/gateway-spec.ts';
import type { Certificate } from '../x509/certificate-types.ts';
import { encodeCertificatesPem } from '../x509/pem.ts';
import { cliErrors } from './cli-errors.ts';

export type SelfCheckParts = {
  readonly proxyUrl: string;
  /** what clients trust, as it is published */
  readonly bundle: () => Promise<ServerTrust>;
  /** roots of this machine */
  readonly system: readonly Certificate[];
  /** the gateway's own CAs: no system trusts them */
  readonly own: readonly Certificate[];
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
};

const timeout = seconds(10);

/** @throws self-check-failed with the half that failed, in words */
export async function runSelfCheck(parts: SelfCheckParts): Promise<void> {
  const verdict = await checkThrough(parts);
  reportHalves(verdict, parts.metrics);
  if (verdict.verdict !== 'intercepted') {
    throw cliErrors.error('self-check-failed', { detail: `${verdict.reason} (${verdict.verdict})` });
  }
  parts.log.debug('self-check passed', { detail: verdict.reason });
}

async function checkThrough({ proxyUrl, bundle, system, own, clock, log }: SelfCheckParts): Promise<PairVerdict> {
  const foreign = originRoots(system, own);
  if (foreign.length < system.length) {
    log.warn("the gateway's CA is among the system's roots: clients of this machine trust it without the trust files");
  }
  const registry = createTrustRegistry({ clock });
  try {
    return await checkPair(`https://${selfCheckHost}/`, {
      registry,
      clock,
      bundle: await bundle(),
      system: parseServerTrust({ bundle: encodeCertificatesPem(foreign), source: 'the system roots' }),
      proxy: parseHttpProxy(proxyUrl),
      timeoutMs: timeout,
    });
  } finally {
    await registry.close();
  }
}

function reportHalves({ bundle, system }: PairVerdict, metrics: Metrics): void {
  metrics.count('leafgate_self_checks_total', { polarity: 'positive', ok: bundle.kind === 'answered' ? 'yes' : 'no' });
  metrics.count('leafgate_self_checks_total', { polarity: 'negative', ok: system.kind === 'failed' ? 'yes' : 'no' });
}
