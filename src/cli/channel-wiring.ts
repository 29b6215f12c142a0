// What the TCP port of the SDS server reports, turned into log lines and metrics. A flood of strangers is one line a second for
// each reason. Names of certificates go to the log, never into a label.
import type { ChannelEvents } from '../channel/channel-events.ts';
import { printable } from '../errors.ts';
import { createSeldom, lostField } from '../observe/seldom.ts';
import type { Surroundings } from './surroundings.ts';

const admittedSentences = {
  info: 'an SDS peer was let in',
  warn: 'an SDS peer was let in by its common name, the last resort: give its certificate a DNS name or a URI',
} as const;

export function channelEvents({ log, metrics, clock }: Pick<Surroundings, 'log' | 'metrics' | 'clock'>): ChannelEvents {
  const seldom = createSeldom(clock);
  return {
    admitted: ({ peer, by, name }) => {
      metrics.count('leafgate_sds_peers_admitted_total', { by });
      // a listed name is one of a closed set, and each that comes is worth a line
      const kind = by === 'any' || by === 'nothing' ? `admitted ${by}` : `admitted ${by} ${name}`;
      const level = by === 'common-name' ? 'warn' : 'info';
      seldom(kind, (leftOut) => {
        log[level](admittedSentences[level], { peer, detail: printable(name), reason: by, ...lostField(leftOut) });
      });
    },
    refused: ({ peer, reason, detail }) => {
      metrics.count('leafgate_sds_peers_refused_total', { reason });
      // probes of a port come every few seconds, and mean nothing
      const level = reason === 'left' ? 'debug' : 'warn';
      seldom(reason, (leftOut) =>
        log[level]('an SDS peer was not let in', { peer, reason, detail, ...lostField(leftOut) }),
      );
    },
    ended: ({ peer, reason, name }) => {
      metrics.count('leafgate_sds_peers_ended_total', { reason });
      log.warn('the connection of an SDS peer was ended: its certificate is no longer good here', {
        ...{ peer, reason, detail: printable(name) },
      });
    },
  };
}
