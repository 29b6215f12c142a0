// What the TCP port of the SDS server reports, turned into log lines and metrics. A flood of strangers is one line a second for
// each reason. Names of certificates go to the log, never into a label.
import type { ChannelEvents } from '../channel/channel-events.ts';
import type { LogFields } from '../observe/log.ts';
import { createSeldom } from '../observe/seldom.ts';
import type { Surroundings } from './surroundings.ts';

export function channelEvents({ log, metrics, clock }: Pick<Surroundings, 'log' | 'metrics' | 'clock'>): ChannelEvents {
  const seldom = createSeldom(clock);
  return {
    admitted: ({ peer, by, name }) => {
      metrics.count('leafgate_sds_peers_admitted_total', { by });
      const fields = { peer, detail: name, reason: by };
      seldom(`admitted-${by}`, (leftOut) => {
        if (by === 'common-name') {
          log.warn(
            'an SDS peer was let in by its common name, the last resort: give its certificate a DNS name or a URI',
            {
              ...fields,
              ...more(leftOut),
            },
          );
        } else {
          log.info('an SDS peer was let in', { ...fields, ...more(leftOut) });
        }
      });
    },
    refused: ({ peer, reason, detail }) => {
      metrics.count('leafgate_sds_peers_refused_total', { reason });
      // probes of a port come every few seconds, and mean nothing
      const level = reason === 'left' ? 'debug' : 'warn';
      seldom(reason, (leftOut) => log[level]('an SDS peer was not let in', { peer, reason, detail, ...more(leftOut) }));
    },
    ended: ({ peer, reason, name }) => {
      metrics.count('leafgate_sds_peers_ended_total', { reason });
      log.warn('the connection of an SDS peer was ended: its certificate is no longer good here', {
        ...{ peer, reason, detail: name },
      });
    },
  };
}

function more(leftOut: number): LogFields {
  return leftOut === 0 ? {} : { lost: leftOut };
}
