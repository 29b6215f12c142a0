// Outcomes of fetches, as small values for tests of what is made of them.
import type {
  Answered,
  CertificateFailure,
  FetchFailure,
  GatewayRefusal,
  PeerRole,
  ProxyRefusal,
} from '../../src/transport/fetch-result.ts';
import type { TlsSession } from '../../src/transport/tls-session.ts';

type PlainFailure = Extract<FetchFailure, { readonly peer: PeerRole }>;

export function leafBy(issuer: string): TlsSession {
  return {
    version: 'TLSv1.3',
    leaf: {
      subject: 'serialNumber=01',
      issuer,
      san: ['DNS:api.example.com'],
      serial: '01',
      notBefore: '2026-01-01T00:00:00.000Z',
      notAfter: '2026-01-01T01:00:00.000Z',
      sha256: '00'.repeat(32),
    },
  };
}

export function answered(status: number, more: Partial<Pick<Answered, 'tls' | 'gateway'>> = {}): Answered {
  return { kind: 'answered', status, tls: leafBy('CN=gateway CA'), ...more };
}

export function certificateFailure(openssl: string): CertificateFailure {
  return { kind: 'failed', code: 'certificate', openssl, detail: `the certificate was refused: ${openssl}` };
}

export function refusedByProxy(status: number, refusal: GatewayRefusal = {}): ProxyRefusal {
  return { kind: 'failed', code: 'refused-by-proxy', status, detail: `answered ${status}`, ...refusal };
}

export function failed(code: PlainFailure['code'], peer: PeerRole = 'server'): PlainFailure {
  return { kind: 'failed', code, peer, detail: `it met ${code}` };
}
