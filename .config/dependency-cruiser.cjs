// The direction of imports, one rule a room, each with its reason. `allowed` lists what a room may import of ours.
// prettier-ignore
const base = '^src/(errors|clock|secret-bytes|node-http|private-socket|socket-path|system-error|make-folder|replace-file|lifeline|read-regular-file|follow-settled|is-record|pause|problems|start-audit)\\.ts$';
// prettier-ignore
const rooms = {
  names: { may: [], why: 'a name is judged by its bytes alone' },
  policy: { may: ['names'], why: 'a decision depends on names and rules, not on how they arrive' },
  x509: { may: ['names'], why: 'certificates know names, not pools, policies or wires' },
  pool: { may: ['names', 'x509'], why: 'a pool is certificates with a lifecycle' },
  mint: { may: ['names', 'policy', 'x509', 'pool'], why: 'minting joins a policy, a pool and the encoder' },
  sds: { may: ['names', 'mint', 'settings', 'observe'], why: 'the protocol asks a minter and knows no certificate' },
  channel: { may: ['names', 'x509', 'settings', 'observe'], why: 'who may speak to the SDS server over TCP: it knows certificates, and not what is spoken' },
  bootstrap: { may: ['names', 'policy', 'settings'], why: 'the generator is pure: a spec in, files out' },
  envoy: { may: ['names', 'policy', 'bootstrap', 'settings', 'observe'], why: 'the process runner knows files, not certificates' },
  transport: { may: ['names', 'x509', 'settings', 'observe'], why: 'a connection is keyed by origin and trust, nothing else' },
  kube: { may: ['names', 'x509', 'transport', 'settings', 'observe'], why: 'the one door to the Kubernetes API knows objects, not what they are for' },
  controller: { may: ['names', 'policy', 'x509', 'pool', 'channel', 'settings', 'bootstrap', 'kube', 'observe'], why: 'the controller joins pool, settings and the Kubernetes API, judges as the channel does, and mints nothing' },
  projection: { may: ['names', 'x509', 'kube', 'settings', 'observe'], why: 'writers know bundles, not their backends' },
  probe: { may: ['names', 'x509', 'transport', 'settings', 'observe'], why: 'the probe stands where an actor stands' },
  doctor: { may: ['names', 'settings'], why: 'what is broken is judged from facts: reading and asking is the edge of cli' },
  settings: { may: ['names', 'policy'], why: 'the spec is what every parser produces, so it knows no edge' },
  observe: { may: ['names', 'policy', 'settings'], why: 'watching must not pull in what it watches' },
  cli: { may: Object.keys({ names: 0, policy: 0, x509: 0, pool: 0, mint: 0, sds: 0, channel: 0, bootstrap: 0, envoy: 0, transport: 0, kube: 0, projection: 0, controller: 0, probe: 0, doctor: 0, settings: 0, observe: 0 }), why: 'the commands compose and nobody imports them' },
};

const doors = {
  undici: 'transport',
  'node-forge': 'x509',
  'lru-cache': 'mint',
  pino: 'observe',
  'prom-client': 'observe',
  commander: 'cli',
};

// prettier-ignore
module.exports = {
  forbidden: [
    { name: 'no-cycle', comment: 'a cycle hides which file promises what', severity: 'error', from: {}, to: { circular: true } },
    { name: 'base-imports-no-room', comment: 'these stand under every room', severity: 'error', from: { path: base }, to: { path: '^src/', pathNot: base } },
    { name: 'nobody-imports-main', comment: 'main only picks a command', severity: 'error', from: {}, to: { path: '^src/main\\.ts$' } },
    { name: 'src-imports-no-test', comment: 'the product does not need its tests', severity: 'error', from: { path: '^src/' }, to: { path: '^test/' } },
    { name: 'one-door-http2', comment: 'HTTP/2 is spoken in sds/ only, where its limits stand (docs/decisions/0005)', severity: 'error', from: { path: '^src/', pathNot: '^src/sds/' }, to: { path: '^(node:)?http2$' } },
    { name: 'no-grpc-library', comment: 'grpc-js is the client of the tests, and comes with them only (docs/decisions/0005)', severity: 'error', from: { path: '^src/' }, to: { path: 'node_modules/@grpc/' } },
    ...Object.entries(rooms).map(([room, { may, why }]) => ({
      name: `${room}-imports-one-way`,
      comment: why,
      severity: 'error',
      from: { path: `^src/${room}/` },
      to: { path: '^src/', pathNot: [base, `^src/(${[room, ...may].join('|')})/`] },
    })),
    ...Object.entries(doors).map(([name, room]) => ({
      name: `one-door-${name.replace(/[@/]/g, '')}`,
      comment: `${name} is imported in ${room}/ only, so that it can be replaced in one room`,
      severity: 'error',
      from: { path: '^src/', pathNot: `^src/${room}/` },
      to: { path: `node_modules/${name}/` },
    })),
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'require', 'node', 'default', 'types'] },
  },
};
