// A connection whose handshake has ended: what its peer has shown, and whether that lets it in. Reads the socket, and judges by
// the pure rules beside it.
import type { X509Certificate } from 'node:crypto';
import type { TLSSocket } from 'node:tls';
import type { EpochMs } from '../clock.ts';
import { printable } from '../errors.ts';
import type { Certificate } from '../x509/certificate-types.ts';
import { readCertificate } from '../x509/read-certificate.ts';
import type { ChannelEvents, RefusalReason } from './channel-events.ts';
import type { AllowedClients } from '../settings/sds-server-settings.ts';
import { judgePeer } from './judge-peer.ts';
import { refusalOfChain } from './refusal-of.ts';
import { isVerifiedBy, maxSent, maxSentBytes, type PeerChain } from './verify-again.ts';

export type SecuredTerms = {
  readonly clients: AllowedClients;
  readonly now: EpochMs;
  /** the CAs of now, where the handshake began with others */
  readonly roots?: readonly Certificate[];
};

export type SecuredVerdict =
  | {
      readonly kind: 'allowed';
      readonly by: Parameters<ChannelEvents['admitted']>[0]['by'];
      readonly name: string;
      readonly chain: PeerChain;
    }
  | { readonly kind: 'refused'; readonly reason: RefusalReason; readonly detail: string };

export function examineSecured(socket: TLSSocket, { clients, now, roots }: SecuredTerms): SecuredVerdict {
  const shown = socket.getPeerX509Certificate();
  if (shown === undefined) return refused('no-certificate', 'it showed no certificate');
  const chain = readChain(shown);
  if (chain === undefined)
    return refused('unreadable', 'its certificate is too large, or not as strict readers want it');
  const about = describe(chain.leaf);
  if (!socket.authorized || socket.isSessionReused()) {
    const code = String(socket.authorizationError);
    return refused(refusalOfChain(code), `${code}: ${about}`);
  }
  if (roots !== undefined && !isVerifiedBy(roots, chain, now))
    return refused('wrong-ca', `the CAs have changed: ${about}`);
  const verdict = judgePeer(chain.leaf, clients);
  if (verdict.kind === 'refused') return refused(verdict.reason, about);
  if (socket.alpnProtocol !== 'h2') return refused('not-http2', `it did not ask for h2 by ALPN: ${about}`);
  return { kind: 'allowed', by: verdict.by, name: verdict.name, chain };
}

/** OpenSSL takes 100 KiB of certificates, of some 250 bytes each at least */
const maxShown = 500;

/** What the peer has shown of certificates, in bytes of DER: what verifying them has cost grows with it. */
export function shownBytes(socket: TLSSocket): number {
  let bytes = 0;
  let next = socket.getPeerX509Certificate();
  for (let count = 0; next !== undefined && count < maxShown; count += 1) {
    bytes += next.raw.length;
    next = next.issuerCertificate;
  }
  return bytes;
}

function refused(reason: RefusalReason, detail: string): SecuredVerdict {
  return { kind: 'refused', reason, detail };
}

function readChain(shown: X509Certificate): PeerChain | undefined {
  try {
    const sent: Certificate[] = [];
    let bytesLeft = maxSentBytes;
    let next = shown.issuerCertificate;
    // a root that is issued by itself would go on for ever
    while (next !== undefined && sent.length < maxSent && !next.checkIssued(next)) {
      bytesLeft -= next.raw.length;
      if (bytesLeft < 0) break;
      sent.push(readCertificate(next.raw));
      next = next.issuerCertificate;
    }
    return { leaf: readCertificate(shown.raw), sent };
  } catch {
    return undefined;
  }
}

const shownNames = 5;
const maxShownChars = 100;

/** the names that could let it in, for people; a few of them, since a certificate may hold thousands */
function describe(leaf: Certificate): string {
  const names = (leaf.subjectAltName?.names ?? []).flatMap((name) => {
    return name.kind === 'dns' || name.kind === 'uri' ? [`${name.kind === 'dns' ? 'DNS' : 'URI'} ${name.text}`] : [];
  });
  const more = names.length > shownNames ? ` and ${names.length - shownNames} more` : '';
  const until = new Date(leaf.notAfter).toISOString();
  const shown = names.slice(0, shownNames).map((name) => printable(name, maxShownChars));
  const subject = printable(leaf.subject, maxShownChars) || 'empty';
  return `subject ${subject}, ${shown.join(', ') || 'no DNS name or URI'}${more}, valid until ${until}`;
}
