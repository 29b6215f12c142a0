// Every metric of this product, in one table: what it counts and which labels it has, each label with a closed set of
// values, none of which a client can choose. docs/metrics.md is made from it. Must not know prom-client.

import {
  bundleReasons,
  certificateOwners,
  conditions,
  legs,
  nameRefusals,
  peerRefusals,
  ruleLabel,
  sdsChannels,
  verdicts,
} from './metric-labels.ts';
import { reasonCodes } from './reason-table.ts';

export type MetricSpec = {
  readonly kind: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  /** label name -> all its values */
  readonly labels: { readonly [label: string]: LabelValues };
  /** histograms only; upper bounds in the metric's unit */
  readonly buckets?: readonly number[];
};

/** `open`: whose values they are, where an operator writes them; never a client */
type LabelValues = readonly string[] | { readonly open: string };

/** from a warm cache (tens of microseconds) to the answer deadline (2 s) and above */
const waitBuckets = [0.000_1, 0.000_3, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 2, 5];

/** from a round that finds nothing to do (a millisecond) to an API server that is slow */
const roundBuckets = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30];

const yesNo = ['yes', 'no'] as const;

export const metricsTable = {
  leafgate_leaves_minted_total: { kind: 'counter', help: 'leaves minted', labels: {} },
  leafgate_leaf_cache_hits_total: { kind: 'counter', help: 'answers from the leaf cache', labels: {} },
  leafgate_leaf_check_failures_total: {
    kind: 'counter',
    help: 'leaves that did not pass the check after their signature and were not served; must stay 0',
    labels: {},
  },
  leafgate_leaf_keys_created_total: { kind: 'counter', help: 'leaf keys created, one a leaf lifetime', labels: {} },
  leafgate_names_refused_total: {
    kind: 'counter',
    help: 'asked names refused for good, by reason',
    labels: { reason: [...nameRefusals, 'policy', 'name-constraint'] },
  },
  leafgate_names_unavailable_total: {
    kind: 'counter',
    help: 'asked names that could not be minted just then, by reason',
    labels: {
      reason: [
        'rate-limited',
        'too-many-names',
        'peer-behind',
        'no-signer',
        'signer-expired',
        'signer-not-yet-valid',
        'deadline',
        'internal',
      ],
    },
  },
  leafgate_sds_streams: { kind: 'gauge', help: 'open SDS streams', labels: { kind: ['ads', 'per-name'] } },
  leafgate_sds_live_names: { kind: 'gauge', help: 'names that Envoy holds a leaf for', labels: {} },
  leafgate_sds_waiting_names: { kind: 'gauge', help: 'asked names that wait for their answer', labels: {} },
  leafgate_sds_answers_total: {
    kind: 'counter',
    help: 'answers sent, by kind',
    labels: { kind: ['secret', 'removal'] },
  },
  leafgate_sds_answer_seconds: {
    kind: 'histogram',
    help: 'from an asked name to its answer',
    labels: {},
    buckets: waitBuckets,
  },
  leafgate_sds_nacks_total: { kind: 'counter', help: 'answers that Envoy rejected; must stay 0', labels: {} },
  leafgate_sds_streams_ended_total: {
    kind: 'counter',
    help: 'SDS streams that ended, by whose doing',
    labels: { end: ['peer-left', 'peer-done', 'server-stopped', 'malformed', 'too-large', 'slow-reader'] },
  },
  leafgate_sds_channel: {
    kind: 'gauge',
    help: '1 for how Envoy reaches the SDS server; `tls-unverified`: by mutual TLS in which it takes any server',
    labels: { kind: sdsChannels },
  },
  leafgate_sds_channel_not_after_seconds: {
    kind: 'gauge',
    help: 'when the certificate of the SDS server, or the first of the CAs of its clients, expires, seconds since 1970; 0 without TLS',
    labels: { of: ['leaf', 'ca'] },
  },
  leafgate_sds_client_not_after_seconds: {
    kind: 'gauge',
    help: 'of a pod whose SDS servers are outside of it: when the certificate that its Envoy shows to them, or the first of the CAs that it verifies them with, expires, seconds since 1970; 0 where there is no good one',
    labels: { of: ['leaf', 'ca'] },
  },
  leafgate_sds_peers_admitted_total: {
    kind: 'counter',
    help: 'connections by TCP that were let in, by what let them in',
    labels: { by: ['dns', 'uri', 'common-name', 'any', 'nothing'] },
  },
  leafgate_sds_peers_refused_total: {
    kind: 'counter',
    help: 'connections by TCP that were not let in, by reason (docs/sds-channel.md)',
    labels: { reason: peerRefusals },
  },
  leafgate_sds_peers_ended_total: {
    kind: 'counter',
    help: 'open connections by TCP that were ended since their certificate is no longer good, by reason',
    labels: { reason: ['wrong-ca', 'expired', 'not-for-clients', 'not-listed'] },
  },
  leafgate_pool_reloads_total: { kind: 'counter', help: 'changed pool files', labels: { taken: yesNo } },
  leafgate_certificate_reloads_total: {
    kind: 'counter',
    help: 'changed certificate files, by whose they are and whether they were taken',
    labels: { of: certificateOwners, taken: yesNo },
  },
  leafgate_pool_cas: { kind: 'gauge', help: 'CAs in the pool that is in use', labels: {} },
  leafgate_signer_not_after_seconds: {
    kind: 'gauge',
    help: 'when the signing chain expires, seconds since 1970; 0 without a signer',
    labels: {},
  },
  leafgate_policy_reloads_total: { kind: 'counter', help: 'changed policy files', labels: { taken: yesNo } },
  leafgate_policy_is_current: {
    kind: 'gauge',
    help: '1 while the policy that decides is the one that was written, 0 while an earlier one does',
    labels: {},
  },
  leafgate_policy_rules: { kind: 'gauge', help: 'rules that decide now', labels: {} },
  leafgate_policy_decisions_total: {
    kind: 'counter',
    help: 'decisions of each rule: about what was asked of the proxy, and about requests inside tunnels',
    labels: { rule: ruleLabel, leg: legs },
  },
  leafgate_policy_dry_run_decisions_total: {
    kind: 'counter',
    help: 'what dry-run rules would have decided',
    labels: { rule: ruleLabel, leg: legs },
  },
  leafgate_self_checks_total: {
    kind: 'counter',
    help: 'self-checks through the running gateway, by half of the pair and outcome',
    labels: { polarity: ['positive', 'negative'], ok: yesNo },
  },
  leafgate_records_total: {
    kind: 'counter',
    help: 'access records, by decision and outcome',
    labels: { decision: verdicts, outcome: ['ok', 'refused', 'failed'] },
  },
  leafgate_record_reasons_total: {
    kind: 'counter',
    help: 'access records that were refused or failed, by reason (docs/records.md)',
    labels: { reason: reasonCodes },
  },
  leafgate_record_lines_lost_total: {
    kind: 'counter',
    help: "lines of Envoy's access log that became no record, by reason",
    labels: { reason: ['not-json', 'too-long', 'cut', 'forgotten', 'not-written', 'not-read'] },
  },
  leafgate_limits_reached_total: {
    kind: 'counter',
    help: 'what was refused because a limit of the gateway was reached, by limit; see docs/answers.md for what clients see',
    labels: { limit: ['connections', 'memory', 'client-rate', 'names'] },
  },
  leafgate_log_lines_lost_total: {
    kind: 'counter',
    help: 'lines of log and records that no reader took',
    labels: {},
  },
  leafgate_bundle_refusals_total: {
    kind: 'counter',
    help: 'times that a bundle turned into one that cannot be used, by reason',
    labels: { reason: bundleReasons },
  },
  leafgate_bundle_private_keys_total: {
    kind: 'counter',
    help: 'times that a private key was found in what a bundle comes from; must stay 0',
    labels: {},
  },
  leafgate_bundle_expired_anchors: {
    kind: 'gauge',
    help: 'expired certificates in bundles: they are kept, and nobody takes them; a bundle of nothing else is refused',
    labels: {},
  },
  leafgate_bundle_view_age_seconds: {
    kind: 'gauge',
    help: 'how long ago the API server last confirmed what is known of the bundles of the cluster, of several views the oldest; 0 where none has been seen',
    labels: {},
  },
  leafgate_controller_is_leader: { kind: 'gauge', help: '1 while this controller is the one that works', labels: {} },
  leafgate_controller_reconciles_total: {
    kind: 'counter',
    help: 'rounds over one gateway: done, to be tried again, or the gateway is gone',
    labels: { outcome: ['done', 'retry', 'gone'] },
  },
  leafgate_controller_reconcile_seconds: {
    kind: 'histogram',
    help: 'how long a round over one gateway takes',
    labels: {},
    buckets: roundBuckets,
  },
  leafgate_controller_waiting_gateways: { kind: 'gauge', help: 'gateways that wait for their round', labels: {} },
  leafgate_controller_oldest_wait_seconds: {
    kind: 'gauge',
    help: 'how long the longest of them has waited',
    labels: {},
  },
  leafgate_controller_writes_total: {
    kind: 'counter',
    help: 'what was written in the cluster; in steady state none of it grows',
    labels: { what: ['bundle', 'status', 'files', 'rollout', 'finalizer'], ok: yesNo },
  },
  leafgate_controller_conditions: {
    kind: 'gauge',
    help: 'gateways by each condition and its status (docs/conditions.md)',
    labels: { condition: conditions, status: ['True', 'False', 'Unknown'] },
  },
  leafgate_controller_channels: {
    kind: 'gauge',
    help: 'gateways by how their Envoys reach an SDS server, as their condition TLSConfigured says; `none`: it says what is wrong',
    labels: { kind: [...sdsChannels, 'none'] },
  },
  leafgate_controller_followed_objects: {
    kind: 'gauge',
    help: 'objects that are followed by name, by what is known of them',
    labels: { known: ['found', 'absent', 'pending', 'unavailable'] },
  },
  leafgate_projection_volumes: { kind: 'gauge', help: 'volumes (actors) whose trust files are kept', labels: {} },
  leafgate_projection_sources: {
    kind: 'gauge',
    help: 'trust files by how they stand: as their bundle is, waiting for it or for the other files of their volume, kept as they last were good, or not there',
    labels: { state: ['current', 'waiting', 'held-back', 'kept', 'lacking'] },
  },
  leafgate_projection_files_written_total: { kind: 'counter', help: 'trust files written', labels: {} },
  leafgate_projection_last_write_seconds: {
    kind: 'gauge',
    help: 'when a trust file was last written, seconds since 1970; 0 before the first',
    labels: {},
  },
  leafgate_projection_refusals_total: {
    kind: 'counter',
    help: 'trust files that could not be made, by cause: once for each file and change of the cause',
    labels: { cause: ['unknown-name', 'missing-object', 'unavailable', 'unusable', 'not-written'] },
  },
  leafgate_projection_reloads_total: {
    kind: 'counter',
    help: 'changed volume files and lists of bundles',
    labels: { of: ['volume', 'bundles'], taken: yesNo },
  },
  leafgate_envoy_up: { kind: 'gauge', help: '1 while the Envoy started by us runs', labels: {} },
  leafgate_envoy_starts_total: { kind: 'counter', help: 'starts of Envoy', labels: {} },
  leafgate_envoy_connections: { kind: 'gauge', help: 'open connections of clients, as Envoy counts them', labels: {} },
} as const satisfies { readonly [name: string]: MetricSpec };

type MetricsTable = typeof metricsTable;
export type MetricName = keyof MetricsTable;
type NameOf<Kind> = { [Name in MetricName]: MetricsTable[Name]['kind'] extends Kind ? Name : never }[MetricName];
export type CounterName = NameOf<'counter'>;
export type GaugeName = NameOf<'gauge'>;
export type HistogramName = NameOf<'histogram'>;

/** the labels of a metric: every one of them, each with one of its values */
type LabelsOf<Name extends MetricName> = {
  readonly [
    Label in keyof MetricsTable[Name]['labels']
  ]: MetricsTable[Name]['labels'][Label] extends readonly (infer Value)[] ? Value : string;
};

/** no argument for a metric without labels */
export type LabelArguments<Name extends MetricName> = keyof MetricsTable[Name]['labels'] extends never
  ? []
  : [labels: LabelsOf<Name>];
