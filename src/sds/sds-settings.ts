// The SDS server's slice of the settings and its constants, with the limits of design section 5. Must not know where a
// value came from.
import { millis, seconds, type DurationMs } from '../clock.ts';

export type SdsSettings = {
  /** names that all peers hold together; beyond it the longest-held are removed (Envoy 1.40 never evicts by itself) */
  readonly maxLiveNames: number;
  /** an asked name is answered by then, with a removal if need be; shorter than Envoy's 5 s connect timeout */
  readonly answerDeadlineMs: DurationMs;
  /** one received message on ADS: a reconnect declares about 74 bytes a name, plus 61 KB of node once */
  readonly maxAdsMessageBytes: number;
  /** one received message on a per-name stream */
  readonly maxPerNameMessageBytes: number;
};

export const defaultSdsSettings = {
  maxLiveNames: 20_000,
  answerDeadlineMs: seconds(2),
  maxAdsMessageBytes: 16 * 1024 * 1024,
  maxPerNameMessageBytes: 256 * 1024,
} as const satisfies SdsSettings;

/** Node ends a session after about 1,000 stream resets at once; Envoy opens another connection at this many streams */
export const maxStreamsPerConnection = 900;

/** 64 × 900 streams is far beyond the cap of live names */
export const maxConnections = 64;

/** over TCP each Envoy of a cluster has one or more of its own */
export const maxTcpConnections = 512;

/** names one stream may hold or wait for (reliability section 3) */
export const maxNamesPerStream = 50_000;

/** of one stream: names told to go whose peer has not answered yet; beyond it that peer gets nothing new */
export const maxLeavingNames = 1000;

/**
 * Unsent bytes of one stream, by its kind, beyond which it is neither read nor answered until the peer takes them. Never
 * below the 64 KiB from which on Node says that a stream has drained.
 */
export const maxUnsentBytes = { ads: 256 * 1024, 'per-name': 64 * 1024 } as const;

/** a peer that takes no byte for this long is not there; its connection is closed */
export const slowReaderMs = seconds(30);

/** mints made before other work gets its turn: about 2 ms with the default CA */
export const mintsPerTurn = 64;

/** asks let go in one turn because their time is over: a removal each, 20 to 50 microseconds with what gRPC does */
export const latePerTurn = 64;

/** names of one request noted before other streams get their turn; one step of a flood then takes 1 ms at most */
export const effortPerPart = 128;
/** the same over all streams in one turn, a request of one name counting as eight */
export const effortPerTurn = 512;
export const effortPerRequest = 8;

/** re-mints of held names in one turn and the pause between turns: half of the default miss rate, asks come first */
export const refreshesPerTurn = 20;
export const refreshPauseMs = millis(20);

/** held names judged anew in one turn and the pause between turns: a microsecond each, or a removal */
export const reviewsPerTurn = 250;
export const reviewPauseMs = millis(10);

/** a held name that could not be re-minted now is tried again after this */
export const reviewRetryMs = seconds(5);

/** how often names are looked for that a peer holds although their TTL has passed (Envoy drops them by itself) */
export const overdueSweepMs = seconds(30);

/** HTTP/2 keepalive towards Envoy: a vanished peer is noticed within 40 s */
export const keepaliveTimeMs = seconds(30);
export const keepaliveTimeoutMs = seconds(10);

/** megabytes that one HTTP/2 session may hold; 900 streams need 10 to 20 */
export const maxSessionMemoryMb = 256;

/** header pairs and bytes of one request; Envoy sends about ten pairs, and initial metadata where it is told to */
export const maxHeaderPairs = 64;
export const maxHeaderBytes = 16 * 1024;

/** stream resets that a session may make at once and then a second, before it is ended: Node's own defaults, written down */
export const streamResetBurst = 1000;
export const streamResetsPerSecond = 33;

/** what unfinished messages of one connection hold together: twice this, since their buffers grow by doubling */
export const maxUnfinishedSpareBytes = 64 * 1024;

/**
 * And those of all connections as much as eight of them may: 257 MiB by default. An Envoy that comes back with every live name of
 * its own needs 1.5 MB for a moment.
 */
export const unfinishedConnections = 8;

/** what each has of its own whatever others do: an Envoy comes back with 61 KB of node and 1,000 names, in buffers that double */
export const unfinishedBytesOfEach = 192 * 1024;

/** a message that is not whole by then is given up, so that nobody holds that room for long */
export const unfinishedMs = seconds(30);
