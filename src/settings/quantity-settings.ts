// The settings that are numbers, and the limits that are none of a person's business to change (design section 5). Each
// default has its reason here and nowhere else.
import type { QuantityUnit } from './quantities.ts';
import type { FixedLimit, QuantitySetting, SettingCommand } from './setting-types.ts';

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const kib = 1024;
const mib = 1024 * kib;
const gib = 1024 * mib;

const gatewayAndSds: readonly SettingCommand[] = ['up', 'run', 'sds', 'doctor'];
const gateway: readonly SettingCommand[] = ['up', 'run', 'doctor'];

export const quantitySettings = {
  leafTtl: quantity('duration', {
    name: 'leaf-ttl',
    group: 'minting',
    commands: gatewayAndSds,
    default: hour,
    least: 2 * minute,
    most: 24 * hour,
    reason: 'lifetime of a leaf, less up to a tenth of jitter: an outage of that length is survived',
  }),
  maxLiveNames: quantity('count', {
    name: 'max-live-names',
    group: 'limits',
    commands: gatewayAndSds,
    default: 20_000,
    least: 1,
    most: 200_000,
    reason: 'names that Envoy holds, then the longest held are removed: it never evicts by itself, 21 KB a name',
  }),
  maxCachedLeaves: quantity('count', {
    name: 'max-cached-leaves',
    group: 'limits',
    commands: gatewayAndSds,
    default: 10_000,
    least: 1,
    most: 200_000,
    reason: 'leaves kept for the next Envoy or listener that asks',
  }),
  answerDeadline: quantity('duration', {
    name: 'answer-deadline',
    group: 'limits',
    commands: gatewayAndSds,
    default: 2 * second,
    least: 50,
    most: 4 * second,
    reason: 'a name without a leaf by then is refused: shorter than the 5 s that Envoy lets a client wait',
  }),
  mintRate: quantity('per-second', {
    name: 'mint-rate',
    group: 'limits',
    commands: gatewayAndSds,
    default: 2000,
    least: 1,
    most: 100_000,
    reason: 'new leaves in the long run; only misses count, since limits on hits have caused outages',
  }),
  mintBurst: quantity('count', {
    name: 'mint-burst',
    group: 'limits',
    commands: gatewayAndSds,
    default: 10_000,
    least: 1,
    most: 1_000_000,
    reason: 'new leaves at once, above the rate: a restart replays every live name',
  }),
  maxAdsMessage: quantity('bytes', {
    name: 'max-ads-message',
    group: 'limits',
    commands: gatewayAndSds,
    default: 16 * mib,
    least: 64 * kib,
    most: 256 * mib,
    reason: 'largest message on ADS: a reconnect declares about 74 bytes a name and 61 KB of node',
  }),
  maxSecretsMessage: quantity('bytes', {
    name: 'max-secrets-message',
    group: 'limits',
    commands: gatewayAndSds,
    default: 256 * kib,
    least: 64 * kib,
    most: 16 * mib,
    reason: 'largest message on a stream for one name',
  }),
  maxConnections: quantity('count', {
    name: 'max-connections',
    group: 'limits',
    commands: gateway,
    default: 8000,
    least: 1,
    most: 1_000_000,
    reason:
      'client connections, 61 to 73 KB each when idle; with 95 in a hundred of them as open tunnels and requests, the next gets a 503',
  }),
  maxMemory: quantity('bytes', {
    name: 'max-memory',
    group: 'limits',
    commands: gateway,
    default: gib,
    least: 128 * mib,
    most: 1024 * gib,
    reason:
      'memory of Envoy, which refuses requests close to it, then connections; where a control group has a limit, that less what leafgate itself needs',
  }),
  clientRate: quantity('per-second', {
    name: 'client-rate',
    group: 'limits',
    commands: gateway,
    default: 1000,
    least: 1,
    most: 1_000_000,
    reason:
      'CONNECTs and clear requests of one client, by its actor or else its address; five times that, and 20 at least, at once',
  }),
  drain: quantity('duration', {
    name: 'drain',
    group: 'limits',
    commands: ['up', 'doctor'],
    default: 5 * second,
    least: 0,
    most: hour,
    reason: 'how long a stop waits for open connections: Ctrl-C must feel prompt, and tunnels never end by themselves',
  }),
  keepRecords: quantity('bytes', {
    name: 'keep-records',
    group: 'limits',
    commands: gateway,
    default: 128 * mib,
    least: mib,
    most: 1024 * gib,
    reason: 'of the access log on disk, in eight files: about 1 KiB a request; what `leafgate log` can show',
  }),
  resync: quantity('duration', {
    name: 'resync',
    group: 'cluster',
    commands: ['controller'],
    default: 10 * minute,
    least: second,
    most: 24 * hour,
    reason: 'every gateway is looked at anew after this, less up to half of it, although no change was seen',
  }),
  maxConnectionsPerTrust: quantity('count', {
    name: 'max-connections-per-trust',
    group: 'limits',
    commands: ['probe'],
    default: 128,
    least: 1,
    most: 4096,
    reason: 'connections to one origin under one server trust',
  }),
} as const;

export type QuantityName = keyof typeof quantitySettings;

/** Limits without a flag; the rooms that hold them own the value, and a test holds the two equal. */
export const fixedLimits = {
  ttlMargin: fixed('resource-ttl-margin', 'duration', minute, 'Envoy serves an expired leaf without a word'),
  connectTimeout: fixed('handshake-wait', 'duration', 5 * second, 'how long Envoy lets a client wait for its leaf'),
  nameBytes: fixed('asked-name', 'bytes', 253, 'RFC 1035 2.3.4; labels 63'),
  labelBytes: fixed('asked-name-label', 'bytes', 63, 'RFC 1035 2.3.4'),
  streams: fixed('streams-per-connection', 'count', 900, 'Node ends a session after about 1,000 stream resets'),
  poolBytes: fixed('pool-size', 'bytes', mib, 'the size of a Secret'),
  poolCas: fixed('pool-cas', 'count', 32, 'each is an anchor in every actor'),
  followedActors: fixed('followed-actors', 'count', 10_000, 'each costs a look at its dates a second, and 4 KB'),
  secretsPerResponse: fixed('secrets-per-response', 'count', 1, 'a refusal of one rejects the whole message'),
} as const;

function quantity<Unit extends QuantityUnit>(
  unit: Unit,
  row: Omit<QuantitySetting, 'kind' | 'unit'>,
): QuantitySetting<Unit> {
  return { kind: 'quantity', unit, ...row };
}

function fixed(name: string, unit: QuantityUnit, value: number, reason: string): FixedLimit {
  return { name, unit, value, reason };
}
