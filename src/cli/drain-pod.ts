// Asks the sidecar of this pod to drain Envoy, over its private socket, and waits for the end of that.
import { createAdminClient } from '../envoy/admin-client.ts';
import { LeafgateError } from '../errors.ts';
import { cliErrors } from './cli-errors.ts';
import type { CommandContext } from './command-context.ts';
import { drainPath } from './control-socket.ts';
import { readSidecarFile } from './read-sidecar-file.ts';

/** above the time that draining may take: the sidecar waits for Envoy's own hook first */
const moreMs = 15_000;

export async function drainPod(dir: string, context: CommandContext): Promise<void> {
  const { sockets, drainMs } = await readSidecarFile(dir);
  const control = createAdminClient(sockets.control, { timeoutMs: drainMs + moreMs, maxBytes: 1024 });
  const answer = await control.post(drainPath).catch((thrown: unknown) => {
    const detail = LeafgateError.from(thrown).message;
    throw cliErrors.error('drain-not-asked', { detail }, thrown);
  });
  if (answer.status !== 200) throw cliErrors.error('drain-not-asked', { detail: `status ${answer.status}` });
  context.say(answer.body.trim() === 'drained' ? 'drained' : 'the pod does not end: Envoy was not told so');
}
