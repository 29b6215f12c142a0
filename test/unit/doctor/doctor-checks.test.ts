import { describe, expect, test } from 'vitest';
import { days, epoch, minutes, plus } from '../../../src/clock.ts';
import { isHealthy, runChecks, type CheckReport } from '../../../src/doctor/check-types.ts';
import { doctorChecks, doctorProblems } from '../../../src/doctor/doctor-checks.ts';
import type { DoctorFacts, EnvoyFacts, RunningFacts, StateFacts } from '../../../src/doctor/doctor-facts.ts';
import type { Problem } from '../../../src/doctor/problem-table.ts';
import { soundFacts } from '../../support/doctor-facts.ts';

const { machine, envoy, state, pool, environment, gateway, now } = soundFacts;

const problemsIn = (reports: readonly CheckReport[]): readonly Problem[] =>
  reports.flatMap(({ result }) => (result.kind === 'found' ? result.problems : []));
const examine = (broken: Partial<DoctorFacts>): readonly Problem[] =>
  problemsIn(runChecks(doctorChecks, { ...soundFacts, ...broken }));

const openFiles = (possible: number): Partial<DoctorFacts> => ({
  machine: { ...machine, openFiles: { ...machine.openFiles, limit: 256, possibleConnections: possible } },
});
const disk = (mib: number): Partial<DoctorFacts> => ({
  machine: { ...machine, disk: { folder: '/s', freeBytes: mib * 1024 * 1024 } },
});
const nameServers = (servers: readonly string[], silentBecause?: string): Partial<DoctorFacts> => ({
  machine: { ...machine, nameServers: { servers, silentBecause } },
});
const search = (found: EnvoyFacts['search']): Partial<DoctorFacts> => ({ envoy: { ...envoy, search: found } });
const unusable = {
  kind: 'unusable',
  setting: '--envoy',
  path: '/e',
  detail: 'it is version 1.39.0',
  machine: 'x64',
} as const;
const inState = (broken: Partial<StateFacts>): Partial<DoctorFacts> => ({ state: { ...state, ...broken } });
const fault = (code: string) => ({ code, message: `${code} happened`, remedy: 'mend it' });
const badPool = (code: string): Partial<DoctorFacts> => ({
  pool: { file: '/p', looseMode: undefined, kind: 'unusable', faults: [fault(code)] },
});
const poolUntil = (left: number): Partial<DoctorFacts> => ({ pool: { ...pool, notAfter: epoch(now + left) } as never });
const shell = (broken: Partial<DoctorFacts['environment']>): Partial<DoctorFacts> => ({
  environment: { ...environment, ...broken },
});
const ours = 'http://127.0.0.1:3128';
const loopback = { no_proxy: 'localhost,127.0.0.1' };
const running = (broken: Partial<RunningFacts>): Partial<DoctorFacts> => ({
  gateway: { ...(gateway as RunningFacts), ...broken },
});
const said = { kind: 'said', state: 'ready', reasons: [], rejectedByEnvoy: 0, lost: 0 } as const;
const trust = (file: 'old' | 'differs' | 'missing'): Partial<DoctorFacts> => ({
  trust: { kind: 'compared', files: [{ path: '/t/ca.pem', state: file }] },
});
const trustVariable = (broken: object): DoctorFacts['environment']['trust'] => [
  { name: 'SSL_CERT_FILE', path: '/x.pem', unusableBecause: undefined, holdsCa: true, ...broken },
];

/** what is broken, the problem that names it, and words that its sentence or its remedy must have */
const cases: readonly (readonly [string, Partial<DoctorFacts>, string, RegExp])[] = [
  ['open files for nobody', openFiles(10), 'open-files-too-few', /256 files.*ulimit/],
  ['open files for some', openFiles(500), 'open-files-limit-connections', /500 connections of the 8000/],
  ['no space', disk(3), 'disk-full', /3 MiB.*--state/],
  ['little space', disk(100), 'disk-low', /100 MiB/],
  ['a clock set back', inState({ newestFileAt: plus(now, minutes(90)) }), 'clock-behind', /90 minutes.*timedatectl/],
  [
    'no file of roots',
    { machine: { ...machine, systemRoots: { path: undefined, count: 100 } } },
    'system-roots-missing',
    /ca-certificates/,
  ],
  ['no name server', nameServers([]), 'name-servers-none', /resolv\.conf.*--resolve/],
  ['a silent name server', nameServers(['192.0.2.1'], 'no answer'), 'name-servers-silent', /192\.0\.2\.1.*no answer/],
  [
    'a taken port',
    { listen: [{ flag: '--listen', address: 'a:1', state: 'taken', detail: '' }] },
    'listen-taken',
    /a:1.*--listen/,
  ],
  [
    'a foreign address',
    { listen: [{ flag: '--listen', address: 'a:1', state: 'refused', detail: 'no' }] },
    'listen-refused',
    /a:1: no/,
  ],
  [
    'a long path',
    { socketPath: { bytes: 200, fallbackBytes: 150, most: 107 } },
    'socket-path-too-long',
    /200.*150.*107/,
  ],
  ['no Envoy at all', search({ kind: 'none', cannotBringBecause: 'there is no pip' }), 'envoy-missing', /no pip/],
  ['no Envoy yet', search({ kind: 'none', cannotBringBecause: undefined }), 'envoy-not-yet-brought', /downloads/],
  ['an old Envoy', search({ ...unusable, madeFor: undefined }), 'envoy-unusable', /--envoy names \/e.*1\.39\.0/],
  [
    'an Envoy for arm64',
    search({ ...unusable, madeFor: 'arm64' }),
    'envoy-wrong-machine',
    /arm64.*this machine is x64/,
  ],
  ['another Envoy on PATH', { envoy: { ...envoy, passedOver: ['passing over'] } }, 'envoy-passed-over', /passing over/],
  ['a folder of root', inState({ notWritableBecause: 'permission denied' }), 'state-not-writable', /permission denied/],
  ['an open folder', inState({ mode: 0o755 }), 'state-open-to-others', /755.*chmod 700 \/s/],
  ['a home folder', inState({ isOurs: false, foreignFile: 'thesis.txt' }), 'state-not-ours', /thesis\.txt/],
  [
    'a newer schema',
    inState({ schema: { found: '9', known: '1' } }),
    'state-schema-unknown',
    /schema 9, this one reads 1/,
  ],
  [
    'a lock of a dead process',
    inState({ lock: { kind: 'left-behind', pid: 4, file: '/s/gateway.lock' } }),
    'state-lock-left-behind',
    /process 4/,
  ],
  [
    'a lost pool',
    { pool: { file: '/p', looseMode: undefined, kind: 'absent', wasThere: true } },
    'pool-missing',
    /\/p/,
  ],
  ['a broken pool', badPool('pool-not-json'), 'pool-unusable', /pool-not-json happened.*mend it/],
  ['an expired CA', badPool('pool-ca-expired'), 'pool-expired', /mend it/],
  ['a CA of tomorrow', badPool('pool-ca-not-yet-valid'), 'pool-not-yet-valid', /clock/],
  ['a CA that ends soon', poolUntil(days(5)), 'pool-ends-soon', /ca-1.*in 5 days/],
  ['a CA left out', { pool: { ...pool, leftOut: [fault('x')] } as never }, 'pool-ca-left-out', /x happened/],
  ['an open pool file', { pool: { ...pool, looseMode: '0644' } }, 'pool-open-to-others', /0644.*chmod 600/],
  [
    'a bad origin CA',
    { files: { certificates: { files: ['/o'], faults: [fault('pem-private-key')] }, policy: undefined } },
    'certificate-file-bad',
    /pem-private-key happened/,
  ],
  [
    'a bad policy',
    { files: { certificates: undefined, policy: { file: '/y', faults: [fault('policy')] } } },
    'policy-bad',
    /policy happened/,
  ],
  [
    'another proxy',
    shell({ proxies: { https_proxy: 'http://u:p@corp:8080' }, noProxy: loopback }),
    'proxy-elsewhere',
    /\/…@corp/,
  ],
  [
    'two proxies',
    shell({ proxyUrl: undefined, proxies: { HTTPS_PROXY: 'a:1', https_proxy: 'b:1' }, noProxy: loopback }),
    'proxy-variables-differ',
    /HTTPS_PROXY is a:1 and https_proxy is b:1/,
  ],
  ['everything around', shell({ noProxy: { NO_PROXY: '*' } }), 'no-proxy-everything', /NO_PROXY is \*/],
  ['spaces', shell({ noProxy: { NO_PROXY: 'a.test b.test' } }), 'no-proxy-entry-unread', /commas/],
  ['a URL', shell({ noProxy: { NO_PROXY: 'http://a.test' } }), 'no-proxy-entry-unread', /not a URL/],
  ['a star', shell({ noProxy: { NO_PROXY: '*.a.test' } }), 'no-proxy-entry-unread', /curl and Python/],
  ['no loopback', shell({ proxies: { https_proxy: ours } }), 'no-proxy-without-loopback', /localhost, 127\.0\.0\.1/],
  [
    'a lost bundle',
    shell({ trust: trustVariable({ unusableBecause: 'no such file or folder' }) }),
    'trust-variable-broken',
    /SSL_CERT_FILE names \/x\.pem.*no such file/,
  ],
  [
    'a bundle without the CA',
    shell({ proxies: { https_proxy: `${ours}/` }, noProxy: loopback, trust: trustVariable({ holdsCa: false }) }),
    'trust-variable-without-ca',
    /leafgate run/,
  ],
  [
    'silence',
    running({ health: { kind: 'silent', reason: 'nobody listens there' } }),
    'gateway-silent',
    /nobody.*kill 10/,
  ],
  [
    'no readiness',
    running({ health: { ...said, state: 'not-ready', reasons: ['no signer'] } }),
    'gateway-not-ready',
    /is not-ready: no signer/,
  ],
  ['a remark', running({ health: { ...said, reasons: ['the last good pool signs'] } }), 'gateway-remarks', /last good/],
  ['a NACK', running({ health: { ...said, rejectedByEnvoy: 2 } }), 'secrets-rejected', /2 of the secrets/],
  ['lost lines', running({ health: { ...said, lost: 7 } }), 'records-lost', /7 lines/],
  [
    'no SDS socket',
    running({ sdsSocket: { path: '/x', unusableBecause: 'gone' } }),
    'sds-socket-gone',
    /\/x.*gone.*restart/,
  ],
  ['a silent Envoy', running({ admin: { kind: 'silent', reason: 'no answer' } }), 'envoy-admin-silent', /no answer/],
  [
    'a draining Envoy',
    running({ admin: { kind: 'said', state: 'DRAINING', version: '1.40.0' } }),
    'envoy-not-live',
    /DRAINING/,
  ],
  ['another trust file', trust('differs'), 'trust-files-differ', /\/t\/ca\.pem/],
  ['no trust file', trust('missing'), 'trust-files-differ', /\/t\/ca\.pem/],
  ['an old trust file', trust('old'), 'trust-files-old', /\/t\/ca\.pem/],
  [
    'another trust file of nobody',
    { ...trust('differs'), gateway: { kind: 'none' } },
    'trust-files-old',
    /leafgate up/,
  ],
  [
    'no handshake',
    { handshake: { kind: 'failed', through: 'the running gateway', reason: 'not trusted' } },
    'handshake-failed',
    /the running gateway.*not trusted/,
  ],
];

describe('doctor', () => {
  test('finds nothing on a sound machine, and says for each check what it saw', () => {
    const reports = runChecks(doctorChecks, soundFacts);
    expect(problemsIn(reports)).toEqual([]);
    expect(isHealthy(reports)).toBe(true);
    for (const { id, result } of reports) expect([id, result.kind !== 'found' && result.note]).not.toEqual([id, '']);
  });

  test('asks at least twenty questions, each with a name of its own, the handshake last', () => {
    const ids = doctorChecks.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.length).toBeGreaterThanOrEqual(20);
    expect(ids.at(-1)).toBe('handshake');
  });

  test.each(cases)('names what is broken, with its remedy, and nothing else: %s', (_, broken, id, words) => {
    const problems = examine(broken);
    expect(problems.map((problem) => problem.id)).toEqual([id]);
    const [found] = problems;
    expect(`${found?.what ?? ''}; ${found?.remedy ?? ''}`).toMatch(words);
    expect(`${found?.what ?? ''}; ${found?.remedy ?? ''}`).not.toMatch(/[{}]/);
  });

  test('has a case above for every problem that it can find', () => {
    expect(new Set(cases.map(([, , id]) => id))).toEqual(new Set(Object.keys(doctorProblems)));
  });

  test('is healthy with warnings, not with a fault', () => {
    const verdict = (broken: Partial<DoctorFacts>) => isHealthy(runChecks(doctorChecks, { ...soundFacts, ...broken }));
    expect([verdict(disk(100)), verdict(disk(3))]).toEqual([true, false]);
  });

  test('has nothing to say of a gateway that does not run, nor of folders and files that do not exist yet', () => {
    const fresh: Partial<DoctorFacts> = {
      state: {
        ...state,
        isOurs: false,
        mode: undefined,
        schema: { found: undefined, known: '1' },
        newestFileAt: undefined,
      },
      pool: { file: '/p', looseMode: undefined, kind: 'absent', wasThere: false },
      gateway: { kind: 'none' },
      trust: { kind: 'none' },
      handshake: { kind: 'skipped', why: 'there is no Envoy' },
    };
    expect(examine(fresh)).toEqual([]);
    expect(examine({ gateway: { kind: 'changing', pid: 3 } })).toEqual([]);
  });
});
