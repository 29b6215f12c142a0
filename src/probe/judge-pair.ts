// The verdict on a pair of fetches of one URL, the one half with the gateway's bundle, the other with the system's
// roots: interception is shown only when the first succeeds AND the second fails for want of the issuer. A positive
// alone proves nothing, since relayed traffic can pass it too. Pure.
import type { CertificateFailure, FetchResult, GatewayRefusal } from '../transport/fetch-result.ts';
import { gatewayErrorWords } from '../settings/gateway-answers.ts';
import { originCauses } from '../settings/origin-causes.ts';

/** a closed set, fit for scripts; only `intercepted` is a yes */
export type Verdict = 'intercepted' | 'relayed' | 'not-trusted' | 'refused' | 'origin-down' | 'inconclusive';

export type PairResults = {
  readonly bundle: FetchResult;
  readonly system: FetchResult;
  /** anchors that stand in both the bundle and the system's roots; above none, the pair cannot prove anything */
  readonly sharedAnchors?: number;
};

export type Judgement = {
  readonly verdict: Verdict;
  /** for people: what was seen, and what to do; sentences without a final full stop */
  readonly reason: string;
  readonly remedy: string;
  /** the gateway's rule, when one refused */
  readonly rule?: string;
};

/** OpenSSL's names for "no issuer of this chain is known"; expiry or a wrong name would not show interception */
const unknownIssuer: ReadonlySet<string> = new Set([
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
]);

/** what a gateway or any proxy answers when the server behind it does not */
const originStatuses: ReadonlySet<number> = new Set([502, 503, 504]);
/** where changing a rule would not help */
const refusalRemedies: ReadonlyMap<string, string> = new Map([
  [gatewayErrorWords.names, 'leave --server-name out: a gateway wants one name in CONNECT, TLS and the request'],
  [gatewayErrorWords.destination, 'check a public host, or make an exception with --allow-destination on the gateway'],
]);

export function judgePair(pair: PairResults): Judgement {
  if (isVerified(pair.system)) return relayed(pair);
  return isVerified(pair.bundle) ? judgeVerified(pair) : judgeUnverified(pair.bundle);
}

/** The peer proved its name; a refused redirect comes after that proof. */
function isVerified(result: FetchResult): boolean {
  return result.kind === 'answered' || result.code === 'redirect-refused';
}

function relayed({ bundle, system, sharedAnchors = 0 }: PairResults): Judgement {
  if (!isVerified(bundle)) {
    return {
      verdict: 'relayed',
      reason: `the certificate that arrived is one that this machine trusts already${issuerOf(system)}: the traffic was relayed unread`,
      remedy:
        "check that the request goes through the gateway, and that the gateway's rule for this host is to intercept",
    };
  }
  const shared = sharedAnchors === 0 ? '' : ` (${sharedAnchors} certificates stand in both)`;
  return {
    verdict: 'relayed',
    reason: `both the bundle and the system's roots verify the certificate${issuerOf(system)}, so interception is not shown${shared}`,
    remedy: "give the gateway's CA alone as --ca, and keep it out of the system's roots of the machine that checks",
  };
}

function judgeVerified({ bundle, system }: PairResults): Judgement {
  const gateway = bundle.kind === 'answered' ? bundle.gateway : undefined;
  if (bundle.kind === 'answered' && gateway !== undefined)
    return gatewayAnswered({ status: bundle.status, ...gateway });
  if (system.kind === 'failed' && system.code === 'certificate' && unknownIssuer.has(system.openssl)) {
    return {
      verdict: 'intercepted',
      reason: `the bundle verifies the certificate${issuerOf(bundle)} and the system's roots do not`,
      remedy: 'nothing to do',
    };
  }
  return {
    verdict: 'inconclusive',
    reason: `the bundle verifies the certificate, but the system's roots failed for another reason than the issuer: ${detailOf(system)}`,
    remedy: 'mend that reason first, or run the check again',
  };
}

function judgeUnverified(bundle: FetchResult): Judgement {
  if (bundle.kind === 'answered') return inconclusive(bundle);
  switch (bundle.code) {
    case 'certificate':
      return notTrusted(bundle);
    case 'refused-by-proxy':
      return gatewayAnswered(bundle);
    case 'connection-refused':
    case 'unreachable':
    case 'dns':
      return bundle.peer === 'proxy' ? gatewayDown(bundle.detail) : originDown(bundle.detail);
    case 'connection-closed':
    case 'tls-handshake':
      return {
        verdict: 'inconclusive',
        reason: bundle.detail,
        remedy: "look into the gateway's log: it may refuse this name or this port, or have no CA to mint with",
      };
    case 'timeout':
    case 'bad-response':
    case 'redirect-refused':
      return inconclusive(bundle);
    default:
      return bundle satisfies never;
  }
}

/** the whole subject of a leaf of ours is its serial (x509/leaf-template.ts); hardly another CA issues such */
const ownLeafSubject = /^serialNumber=[0-9a-f]{32}$/i;

/** The bundle, and by `judgePair` the system's roots too, refused what arrived: ours under another CA, or not ours at all. */
function notTrusted({ detail, openssl, presented }: CertificateFailure): Judgement {
  if (!unknownIssuer.has(openssl)) {
    const remedy = "look at the gateway's clock and at the name that it minted for: its CA is not what failed";
    return { verdict: 'not-trusted', reason: detail, remedy };
  }
  if (presented === undefined || ownLeafSubject.test(presented.subject)) {
    const remedy = 'give the CA of this gateway: the bundle holds another one, or an older one that was withdrawn';
    return { verdict: 'not-trusted', reason: detail, remedy };
  }
  return {
    verdict: 'not-trusted',
    reason: `${detail}; it does not look like a leaf of leafgate, so that the traffic may be relayed to an origin with a CA of its own`,
    remedy:
      'look at the rule for this host (`leafgate policy explain HOST`): where it relays, clients need the CA of the origin; where it intercepts, give the CA of this gateway',
  };
}

function gatewayAnswered({ status, rule, error, cause }: GatewayRefusal & { readonly status: number }): Judgement {
  const words = [`the gateway answered ${status}`, ...(error === undefined ? [] : [`(${error})`])].join(' ');
  if (error === gatewayErrorWords.origin || (originStatuses.has(status) && rule === undefined)) {
    return originDown(cause === undefined ? words : `${words}: ${originCauses[cause]}`);
  }
  return {
    verdict: 'refused',
    reason: rule === undefined ? words : `${words} by rule ${rule}`,
    remedy: refusalRemedies.get(error ?? '') ?? 'check a host that the policy allows, or change the rule',
    ...(rule === undefined ? {} : { rule }),
  };
}

function originDown(reason: string): Judgement {
  return {
    verdict: 'origin-down',
    reason,
    remedy:
      "see the gateway's record for why: a server that is down, a name without an address, a certificate it refused",
  };
}

function gatewayDown(reason: string): Judgement {
  return { verdict: 'inconclusive', reason, remedy: 'check that the gateway runs and that the proxy address is right' };
}

function inconclusive(result: FetchResult): Judgement {
  return { verdict: 'inconclusive', reason: detailOf(result), remedy: 'run the check again, or try another URL' };
}

function detailOf(result: FetchResult): string {
  return result.kind === 'failed' ? result.detail : `answered ${result.status}`;
}

function issuerOf(result: FetchResult): string {
  const tls = 'tls' in result ? result.tls : undefined;
  return tls === undefined ? '' : ` (issued by "${tls.leaf.issuer}")`;
}
