// A log that remembers its lines, for tests of what is told and how often. Debug lines are left out.
import type { Log, LogFields } from '../../src/observe/log.ts';

export type LoggedLine = { readonly level: string; readonly sentence: string; readonly fields: LogFields };

export function recordingLog(): { readonly log: Log; readonly lines: LoggedLine[] } {
  const lines: LoggedLine[] = [];
  const at =
    (level: string) =>
    (sentence: string, fields: LogFields = {}): void =>
      void lines.push({ level, sentence, fields });
  const log: Log = {
    ...{ debug: () => undefined, info: at('info'), warn: at('warn'), error: at('error') },
    with: () => log,
  };
  return { log, lines };
}
