// An address on loopback to which connections are never answered: a listener whose queue is full and that takes nothing
// from it, for which Linux drops every further SYN (tcp(7), tcp_abort_on_overflow). Node cannot leave its queue alone.
import { startProcess } from './run-command.ts';
import { scrubbedEnvironment } from './scrubbed-environment.ts';

const script = `
import signal, socket, sys
listener = socket.socket()
listener.bind((sys.argv[1], int(sys.argv[2])))
listener.listen(0)
queued = []
for _ in range(3):
    client = socket.socket()
    client.settimeout(0.2)
    try:
        client.connect(listener.getsockname())
    except OSError:
        pass
    queued.append(client)
print("full", flush=True)
signal.pause()
`;

/** ends with what it returns */
export async function openBlackHole(python: string, address: string, port: number): Promise<() => Promise<unknown>> {
  const child = startProcess(python, ['-c', script, address, String(port)], {
    env: scrubbedEnvironment('/'),
  });
  await child.waitForOutput(/full/);
  return () => child.stop();
}
