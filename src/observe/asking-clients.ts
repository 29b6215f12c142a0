// Which clients have just gone on to a request for a name, and on tunnels of which moment: browsers open more connections than
// they need, all at once, and close those without a word, as a client does that pins a certificate. Bounded; pure.
import { millis } from '../clock.ts';
import { endOf, type AccessLogLine } from './access-log-line.ts';
import { forgetOldest } from './seen-leaves.ts';

export interface AskingClients {
  /** a decrypted request, and what began its tunnel */
  note(request: AccessLogLine, opening: AccessLogLine): void;
  /** whether the client of this handshake asked on another tunnel that it had opened in the same moment, and that went on */
  hasAskedBeside(handshake: AccessLogLine, opening: AccessLogLine): boolean;
}

/** Chromium's lay 1 and 10 ms apart (measured), on a busy machine more; two programs that a person starts one after the other do not */
const sameMoment = millis(500);
const maxClients = 4096;
const maxTunnelsOfClient = 8;

type Asked = { readonly begun: number; readonly until: number };

export function createAskingClients(): AskingClients {
  const clients = new Map<string, Map<string, Asked>>();
  return {
    note: (request, opening) => {
      const key = keyOf(request, opening);
      const tunnels = clients.get(key) ?? new Map<string, Asked>();
      // moved to the end, so that the one that asked least recently is forgotten first
      clients.delete(key);
      clients.set(key, tunnels);
      if (clients.size > maxClients) forgetOldest(clients);
      tunnels.set(request.id, { begun: Date.parse(opening.start), until: endOf(request) });
      if (tunnels.size > maxTunnelsOfClient) forgetOldest(tunnels);
    },
    hasAskedBeside: (handshake, opening) => {
      const begun = Date.parse(opening.start);
      const tunnels = clients.get(keyOf(handshake, opening)) ?? new Map<string, Asked>();
      return [...tunnels.values()].some((asked) => {
        return Math.abs(asked.begun - begun) <= sameMoment && asked.until >= begun;
      });
    },
  };
}

/** each connection has a port of its own */
function keyOf({ text }: AccessLogLine, opening: AccessLogLine): string {
  const address = (text.client ?? opening.text.client ?? '').replace(/:\d+$/, '');
  return [address, text.actor ?? opening.text.actor ?? '', text.sni ?? ''].join(' ');
}
