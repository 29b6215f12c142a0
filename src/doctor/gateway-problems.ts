// What can be broken in a state folder, in files that were given, and in a gateway that runs. docs/doctor.md is made from
// this table.
import { problemTable } from './problem-table.ts';

export const stateProblems = problemTable({
  'state-not-writable': {
    severity: 'fault',
    what: 'the state folder {folder} cannot be written: {reason}',
    remedy: 'make it yours and writable, or give another folder with --state',
  },
  'state-open-to-others': {
    severity: 'fault',
    what: 'the state folder {folder}, which holds a CA key, can be read by others (mode {mode})',
    remedy: 'run `chmod 700 {folder}`, and make a new pool if somebody may have read it',
  },
  'state-not-ours': {
    severity: 'fault',
    what: 'the state folder {folder} has files that leafgate did not write, such as {file}',
    remedy: 'give a folder of its own with --state',
  },
  'state-schema-unknown': {
    severity: 'fault',
    what: 'the state folder {folder} was written by another version of leafgate (schema {found}, this one reads {known})',
    remedy: 'use the version that wrote it, or give another folder with --state',
  },
  'state-lock-left-behind': {
    severity: 'warning',
    what: 'the lock {file} was left by process {pid}, which has ended without a word',
    remedy:
      'nothing by hand: the next `leafgate up` takes it over; if nobody killed that process, look for why it ended (`dmesg` shows a lack of memory)',
  },
  'pool-missing': {
    severity: 'fault',
    what: 'the state folder had a CA pool and has none now ({file})',
    remedy: 'put the file back, or remove the folder to start anew with another CA, which no client trusts yet',
  },
  'pool-unusable': {
    severity: 'fault',
    what: '{detail}',
    remedy: '{remedy}',
  },
  'pool-expired': {
    severity: 'fault',
    what: '{detail}',
    remedy: '{remedy}',
  },
  'pool-not-yet-valid': {
    severity: 'fault',
    what: '{detail}',
    remedy: 'set the clock of this machine if it is wrong; else wait, or let another CA sign',
  },
  'pool-ends-soon': {
    severity: 'warning',
    what: 'the CA that signs ({ca}) ends on {date}, in {days} days',
    remedy:
      'add a new CA in time, so that clients trust it before it signs; docs/pool.md, "Another CA takes over", has how',
  },
  'pool-ca-left-out': {
    severity: 'warning',
    what: 'a CA is left out of the pool: {detail}',
    remedy: '{remedy}',
  },
  'pool-open-to-others': {
    severity: 'warning',
    what: 'the pool file {file} holds CA keys and is not private (mode {mode})',
    remedy: 'run `chmod 600 {file}`, and make a new pool if somebody may have read it',
  },
  'certificate-file-bad': {
    severity: 'fault',
    what: '{detail}',
    remedy: '{remedy}',
  },
  'policy-bad': {
    severity: 'fault',
    what: '{detail}',
    remedy: '{remedy}',
  },
});

export const runningProblems = problemTable({
  'gateway-silent': {
    severity: 'fault',
    what: 'the gateway (process {pid}) does not answer where it serves its health: {reason}',
    remedy: 'stop it and start it again; if it is stuck, `kill {pid}` ends it, and its Envoy with it',
  },
  'gateway-not-ready': {
    severity: 'fault',
    what: 'the gateway (process {pid}) is {state}: {reason}',
    remedy: 'mend that; it becomes ready by itself',
  },
  'gateway-remarks': {
    severity: 'warning',
    what: 'the gateway (process {pid}) is ready, but: {reason}',
    remedy: 'mend that before it is restarted',
  },
  'secrets-rejected': {
    severity: 'warning',
    what: 'Envoy has rejected {count} of the secrets that it was sent',
    remedy: 'look for "Envoy rejected a secret" in the log of the gateway, and report it',
  },
  'records-lost': {
    severity: 'warning',
    what: '{count} lines of records or log have reached nobody',
    remedy:
      'see whether the disk was full, and whether somebody reads what the gateway prints (docs/metrics.md tells by reason)',
  },
  'sds-socket-gone': {
    severity: 'fault',
    what: 'the SDS socket {path} of the running gateway cannot be used: {reason}',
    remedy: 'restart the gateway: new names get no leaf without it',
  },
  'envoy-admin-silent': {
    severity: 'fault',
    what: "Envoy's admin socket does not answer: {reason}",
    remedy: 'restart the gateway: it cannot drain or watch an Envoy that does not answer',
  },
  'envoy-not-live': {
    severity: 'fault',
    what: 'Envoy is {state}, not LIVE',
    remedy: 'wait a moment; if it stays so, restart the gateway with --verbose to see what it waits for',
  },
  'trust-files-differ': {
    severity: 'fault',
    what: 'the trust file {path} is not what the pool says: clients that read it may not trust the gateway',
    remedy: 'restart the gateway, which writes it anew; clients read it at their start',
  },
  'trust-files-old': {
    severity: 'warning',
    what: 'the trust file {path} is not what the pool and the roots of the system say now',
    remedy: 'nothing, when no client reads it just now: `leafgate up` writes it anew at its start',
  },
  'handshake-failed': {
    severity: 'fault',
    what: 'the handshakes through {through} did not show both halves: {reason}',
    remedy: 'mend what else is named here first; then run `leafgate up --verbose` to see what Envoy says',
  },
});
