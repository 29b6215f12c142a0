// A network of a test's own, where the machine allows one: no route out, and whatever addresses the test wants, all of them
// on loopback. Needs no privilege but user namespaces, which containers often forbid.
import { runCommand, type CommandResult } from './run-command.ts';
import { scrubbedEnvironment } from './scrubbed-environment.ts';

type Network = {
  /** addresses with their prefix lengths, as `ip address add` takes them */
  readonly addresses: readonly string[];
};

type NamespaceCommand = { readonly home: string; readonly deadlineMs: number };

/** undefined where there are none; else the reason in words */
export async function whyNoNamespaces(home: string): Promise<string | undefined> {
  const { status, stderr } = await inNetworkNamespace({ addresses: ['203.0.113.1/32'] }, ['true'], {
    ...{ home, deadlineMs: 10_000 },
  }).catch((error: unknown) => ({ status: 1, stderr: String(error) }));
  return status === 0 ? undefined : stderr.trim();
}

/** Runs the command in a new namespace, which ends with it. */
export function inNetworkNamespace(
  { addresses }: Network,
  command: readonly string[],
  { home, deadlineMs }: NamespaceCommand,
): Promise<CommandResult> {
  const setUp = [
    'ip link set lo up',
    ...addresses.map((address) => `ip address add ${address} dev lo${address.includes(':') ? ' nodad' : ''}`),
  ];
  const script = `${setUp.join(' && ')} && exec "$@"`;
  return runCommand('unshare', ['-rn', '--kill-child', 'sh', '-c', script, 'sh', ...command], {
    env: scrubbedEnvironment(home),
    deadlineMs,
  });
}
