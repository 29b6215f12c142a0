// A control group of a test's own with a limit of memory, where the machine lets this user make one below its own: cgroup v2
// or v1. What a machine does not allow is said, not tried again.
import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { waitFor } from './wait-for.ts';

export type MemoryGroup = {
  /** the words that run a command inside */
  readonly through: readonly string[];
  remove(): Promise<void>;
};

type Place = { readonly folder: string; readonly limitFile: string };

export function makeMemoryGroup(bytes: number): MemoryGroup {
  const { folder, limitFile } = ownPlace();
  const group = join(folder, `leafgate-test-${process.pid}-${bytes}`);
  mkdirSync(group);
  try {
    writeFileSync(join(group, limitFile), String(bytes));
  } catch (thrown) {
    rmdirSync(group);
    throw thrown;
  }
  return {
    through: ['sh', '-c', `echo $$ > '${join(group, 'cgroup.procs')}' && exec "$@"`, 'sh'],
    // the kernel lets go of the last process a moment after it has ended
    remove: async () => {
      await waitFor('the control group to be empty', () => {
        try {
          rmdirSync(group);
          return true;
        } catch {
          return false;
        }
      });
    },
  };
}

/** Why this machine lets us make none; undefined where it does. */
export function whyNoMemoryGroup(): string | undefined {
  try {
    const { folder, limitFile } = ownPlace();
    const group = join(folder, `leafgate-test-${process.pid}-tried`);
    mkdirSync(group);
    try {
      writeFileSync(join(group, limitFile), String(2 ** 30));
    } finally {
      rmdirSync(group);
    }
    return undefined;
  } catch (thrown) {
    return `a control group with a limit of memory: ${thrown instanceof Error ? thrown.message : String(thrown)}`;
  }
}

/** below which a group of ours may stand; cgroups(7) */
function ownPlace(): Place {
  const lines = readFileSync('/proc/self/cgroup', 'latin1').split('\n');
  const v1 = lines
    .map((line) => /^\d+:(?:.*,)?memory(?:,.*)?:(\/.*)$/.exec(line)?.[1])
    .find((path) => path !== undefined);
  if (v1 !== undefined) return { folder: join('/sys/fs/cgroup/memory', v1), limitFile: 'memory.limit_in_bytes' };
  const v2 = lines.map((line) => /^0::(\/.*)$/.exec(line)?.[1]).find((path) => path !== undefined);
  if (v2 === undefined) throw new Error('this process is in no control group');
  return { folder: join('/sys/fs/cgroup', v2), limitFile: 'memory.max' };
}
