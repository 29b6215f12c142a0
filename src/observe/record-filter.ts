// Which records somebody wants to see. Pure.
import type { EpochMs } from '../clock.ts';
import { hostPatternMatches } from '../names/host-pattern.ts';
import { parseIpAddress } from '../names/ip-address.ts';
import type { HostPattern, ValidName } from '../names/name-types.ts';
import { parseHostName } from '../names/parse-host-name.ts';
import type { AccessRecord } from './access-record.ts';
import type { RecordOutcome } from './reason-table.ts';

export type RecordFilter = {
  /** any of them; none is every host */
  readonly hosts: readonly HostPattern[];
  /** a rule's name, alone or behind its verdict: `ads`, `deny:ads` */
  readonly rule?: string;
  readonly actor?: string;
  /** what had ended before is left out */
  readonly since?: EpochMs;
  readonly outcome?: RecordOutcome;
};

export function fitsRecord(record: AccessRecord, filter: RecordFilter): boolean {
  const { rule, actor, since, outcome } = filter;
  if (outcome !== undefined && record.outcome !== outcome) return false;
  if (actor !== undefined && record.actor !== actor) return false;
  if (rule !== undefined && rule !== record.rule && rule !== `${record.decision}:${record.rule}`) return false;
  if (since !== undefined && Date.parse(record.time) + record.durationMs < since) return false;
  return filter.hosts.length === 0 || hasHost(record.host, filter.hosts);
}

/** a host that is no name fits no pattern */
function hasHost(text: string, patterns: readonly HostPattern[]): boolean {
  const name = nameOf(text);
  return name !== undefined && patterns.some((pattern) => hostPatternMatches(pattern, name));
}

function nameOf(text: string): ValidName | undefined {
  const address = parseIpAddress(text);
  if (address !== undefined) return { kind: 'ip', address };
  const host = parseHostName(text);
  return host === undefined ? undefined : { kind: 'dns', host };
}
