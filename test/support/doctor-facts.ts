// A machine on which nothing is broken and a gateway runs, for tests that break one thing.
import { days, epoch, plus } from '../../src/clock.ts';
import type { DoctorFacts } from '../../src/doctor/doctor-facts.ts';

const now = epoch(Date.UTC(2026, 10, 30));

export const soundFacts: DoctorFacts = {
  now,
  machine: {
    openFiles: { limit: 65_536, possibleConnections: 32_668, fewestConnections: 16, wantedConnections: 8_000 },
    disk: { folder: '/s', freeBytes: 10 * 1024 ** 3 },
    systemRoots: { path: '/etc/ssl/certs/ca-certificates.crt', count: 140 },
    nameServers: { servers: ['192.0.2.53'], silentBecause: undefined },
  },
  envoy: { minimum: '1.40.0', passedOver: [], search: { kind: 'found', path: '/usr/bin/envoy', version: '1.40.0' } },
  state: {
    folder: '/s',
    notWritableBecause: undefined,
    mode: 0o700,
    isOurs: true,
    foreignFile: undefined,
    schema: { found: '1', known: '1' },
    lock: { kind: 'held', pid: 10, file: '/s/gateway.lock' },
    newestFileAt: now,
  },
  pool: {
    file: '/s/pool.json',
    looseMode: undefined,
    kind: 'usable',
    activeId: 'ca-1',
    notAfter: plus(now, days(300)),
    leftOut: [],
  },
  listen: [{ flag: '--listen', address: '127.0.0.1:3128', state: 'ours', detail: '' }],
  socketPath: { bytes: 40, fallbackBytes: 40, most: 107 },
  gateway: {
    ...{ kind: 'running', pid: 10, proxyUrl: 'http://127.0.0.1:3128' },
    health: { kind: 'said', state: 'ready', reasons: [], rejectedByEnvoy: 0, lost: 0 },
    sdsSocket: { path: '/s/gateway/sds.sock', unusableBecause: undefined },
    admin: { kind: 'said', state: 'LIVE', version: '1.40.0' },
  },
  trust: { kind: 'compared', files: [{ path: '/s/gateway/trust/ca.pem', state: 'same' }] },
  environment: { proxyUrl: 'http://127.0.0.1:3128', proxies: {}, noProxy: {}, trust: [] },
  files: { certificates: undefined, policy: undefined },
  handshake: { kind: 'passed', through: 'the running gateway' },
};
