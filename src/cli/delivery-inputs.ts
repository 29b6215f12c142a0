// The two files that trust delivery reads, from what stands in them to what they mean, and what is wrong with each now: a
// file that cannot be used leaves the last good one in force, is told once for each state of it, and when it is good again.
import type { LeafgateError } from '../errors.ts';
import type { Metrics } from '../observe/create-metrics.ts';
import type { Log } from '../observe/log.ts';
import type { FileContent } from '../read-regular-file.ts';
import { parseBundleAllowlist, type BundleAllowlist } from '../settings/bundle-allowlist.ts';
import { allowlistWords, deliveryErrors, volumeWords } from '../settings/delivery-errors.ts';
import type { DeliveryReading } from '../settings/delivery-file.ts';
import { parseTrustVolume, type TrustVolume } from '../settings/trust-volume.ts';
import { problemsText } from './problems-text.ts';

export function readVolume(content: FileContent, at: string): DeliveryReading<TrustVolume> {
  return content.kind === 'bytes' ? parseTrustVolume(content.bytes, at) : unread(content, at, volumeWords.maxBytes);
}

export function readAllowlist(content: FileContent, at: string): DeliveryReading<BundleAllowlist> {
  return content.kind === 'bytes'
    ? parseBundleAllowlist(content.bytes, at)
    : unread(content, at, allowlistWords.maxBytes);
}

type Unread = Exclude<FileContent, { readonly kind: 'bytes' }>;

function unread(content: Unread, at: string, maxBytes: number): Extract<DeliveryReading<never>, { kind: 'refused' }> {
  const problem =
    content.kind === 'too-large'
      ? deliveryErrors.error('delivery-file-too-large', { at, maxBytes })
      : deliveryErrors.error('delivery-file-unreadable', { at, reason: content.reason });
  return { kind: 'refused', problems: [problem] };
}

/** `volume` with the name of the volume, or the list of bundles */
type InputName = { readonly of: 'volume'; readonly volume: string } | { readonly of: 'bundles' };

export interface InputTroubles {
  taken(input: InputName): void;
  refused(input: InputName, problems: readonly LeafgateError[]): void;
  gone(input: InputName): void;
  /** one line for each input that cannot be used now */
  lines(): readonly string[];
}

export function createInputTroubles({ log, metrics }: { readonly log: Log; readonly metrics: Metrics }): InputTroubles {
  const troubles = new Map<string, readonly LeafgateError[]>();
  return {
    taken: (input) => {
      metrics.count('leafgate_projection_reloads_total', { of: input.of, taken: 'yes' });
      if (troubles.delete(keyOf(input))) log.info(sentences[input.of].taken, fieldsOf(input));
    },
    refused: (input, problems) => {
      metrics.count('leafgate_projection_reloads_total', { of: input.of, taken: 'no' });
      troubles.set(keyOf(input), problems);
      for (const { code, message, remedy } of problems) {
        log.warn(sentences[input.of].refused, { ...fieldsOf(input), code, detail: message, remedy });
      }
    },
    gone: (input) => void troubles.delete(keyOf(input)),
    lines: () => [...troubles.values()].map((problems) => problemsText(problems)),
  };
}

function keyOf(input: InputName): string {
  return input.of === 'volume' ? `volume ${input.volume}` : input.of;
}

const sentences = {
  volume: {
    taken: 'a volume file can be used again',
    refused: 'a volume file cannot be used, and what it last said well stays in force',
  },
  bundles: {
    taken: 'the list of bundles can be used again',
    refused: 'the list of bundles cannot be used, and what it last said well stays in force',
  },
} as const;

function fieldsOf(input: InputName): { readonly volume?: string } {
  return input.of === 'volume' ? { volume: input.volume } : {};
}
