// The state folder, its pool, and the files that were given with flags. Pure.
import { between, days, type EpochMs } from '../clock.ts';
import { foundOr, ok, skipped, type Check, type CheckResult } from './check-types.ts';
import type { DoctorFacts, FoundFault, GivenFileFacts, PoolFacts, StateFacts } from './doctor-facts.ts';
import { stateProblems } from './gateway-problems.ts';
import type { Problem } from './problem-table.ts';

const { problem } = stateProblems;

/** as long as anchors overlap by default (design section 5) */
const soon = days(30);

/** group and others */
const openToOthers = 0o077;

export const stateChecks: readonly Check<DoctorFacts>[] = [
  { id: 'state-folder', title: 'the state folder', examine: ({ state }) => stateFolder(state) },
  { id: 'state-lock', title: 'who holds the state folder', examine: ({ state }) => stateLock(state) },
  { id: 'pool', title: 'the CA pool', examine: ({ pool, now }) => caPool(pool, now) },
  { id: 'pool-mode', title: 'who may read the CA keys', examine: ({ pool }) => poolMode(pool) },
];

export const givenFileChecks: readonly Check<DoctorFacts>[] = [
  { id: 'certificates', title: 'certificates that were given', examine: ({ files }) => certificates(files) },
  { id: 'policy', title: 'the file of --policy', examine: ({ files }) => policyFile(files) },
];

function stateFolder(state: StateFacts): CheckResult {
  const { folder, notWritableBecause: reason, mode, isOurs, foreignFile, schema } = state;
  const problems: Problem[] = [];
  if (reason !== undefined) problems.push(problem('state-not-writable', { folder, reason }));
  if (isOurs && mode !== undefined && (mode & openToOthers) !== 0)
    problems.push(problem('state-open-to-others', { folder, mode: mode.toString(8) }));
  if (!isOurs && foreignFile !== undefined) problems.push(problem('state-not-ours', { folder, file: foreignFile }));
  if (schema.found !== undefined && schema.found !== schema.known) {
    problems.push(problem('state-schema-unknown', { folder, found: schema.found, known: schema.known }));
  }
  return foundOr(problems, isOurs ? folder : `${folder} will be made by the first \`leafgate up\``);
}

function stateLock({ lock }: StateFacts): CheckResult {
  switch (lock.kind) {
    case 'free':
      return ok('nobody');
    case 'held':
      return ok(`process ${lock.pid}`);
    case 'left-behind':
      return foundOr([problem('state-lock-left-behind', { pid: lock.pid, file: lock.file })], '');
    default:
      return lock satisfies never;
  }
}

function caPool(pool: PoolFacts, now: EpochMs): CheckResult {
  switch (pool.kind) {
    case 'absent':
      if (pool.wasThere) return foundOr([problem('pool-missing', { file: pool.file })], '');
      return skipped('none yet: the first `leafgate up` makes one');
    case 'unusable':
      return foundOr(pool.faults.map(poolFault), '');
    case 'usable': {
      const date = new Date(pool.notAfter).toISOString().slice(0, 10);
      const left = between(now, pool.notAfter);
      const fields = { ca: pool.activeId, date, days: Math.floor(left / days(1)) };
      const ending = left < soon ? [problem('pool-ends-soon', fields)] : [];
      const leftOut = pool.leftOut.map((fault) => problem('pool-ca-left-out', wordsOf(fault)));
      return foundOr([...ending, ...leftOut], `${pool.activeId} signs, to ${date}`);
    }
    default:
      return pool satisfies never;
  }
}

function poolFault(fault: FoundFault): Problem {
  if (fault.code === 'pool-ca-expired') return problem('pool-expired', wordsOf(fault));
  if (fault.code === 'pool-ca-not-yet-valid') return problem('pool-not-yet-valid', { detail: fault.message });
  return problem('pool-unusable', wordsOf(fault));
}

function poolMode({ kind, file, looseMode: mode }: PoolFacts): CheckResult {
  if (kind === 'absent') return skipped('there is no pool');
  return foundOr(mode === undefined ? [] : [problem('pool-open-to-others', { file, mode })], 'only its owner');
}

function certificates({ certificates: given }: GivenFileFacts): CheckResult {
  if (given === undefined) return skipped('none is given');
  return foundOr(
    given.faults.map((fault) => problem('certificate-file-bad', wordsOf(fault))),
    given.files.join(', '),
  );
}

function policyFile({ policy }: GivenFileFacts): CheckResult {
  if (policy === undefined) return skipped('none is given');
  return foundOr(
    policy.faults.map((fault) => problem('policy-bad', wordsOf(fault))),
    policy.file,
  );
}

function wordsOf({ message, remedy }: FoundFault): { readonly detail: string; readonly remedy: string } {
  return { detail: message, remedy };
}
