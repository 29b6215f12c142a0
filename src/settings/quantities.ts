// Text for people to numbers and back: durations, sizes and counts. Exact both ways, so that a message shows a limit the
// way a person would type it. Must not know which setting is read.
import { millis, type DurationMs } from '../clock.ts';
import { settingsErrors } from './settings-errors.ts';

export type QuantityUnit = 'duration' | 'bytes' | 'count' | 'per-second';

/** units from the largest down; `format` takes the first that divides the value */
const durationUnits = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000, ms: 1 };
const byteUnits = { TiB: 2 ** 40, GiB: 2 ** 30, MiB: 2 ** 20, KiB: 2 ** 10, B: 1 };

type Scale = {
  readonly units: { readonly [suffix: string]: number };
  readonly expected: string;
  readonly example: string;
};

const scales: { readonly [unit in QuantityUnit]: Scale } = {
  duration: { units: durationUnits, expected: 'a duration', example: '90s, 15m or 1h' },
  bytes: { units: byteUnits, expected: 'a size', example: '256KiB or 16MiB' },
  count: { units: { '': 1 }, expected: 'a whole number', example: '2000' },
  'per-second': { units: { '': 1 }, expected: 'a whole number per second', example: '2000' },
};

const quantityPattern = /^(\d{1,15})([a-z]*)$/i;

/** Milliseconds, bytes or a plain count. Throws `setting-malformed`, which names the setting and the value. */
export function parseQuantity(text: string, unit: QuantityUnit, setting: string): number {
  const scale = scales[unit];
  const [, digits = '', suffix = ''] = quantityPattern.exec(text) ?? [];
  const factor = Object.hasOwn(scale.units, suffix) ? scale.units[suffix] : undefined;
  const value = factor === undefined ? NaN : Number(digits) * factor;
  if (digits === '' || !Number.isSafeInteger(value)) {
    const { expected, example } = scale;
    throw settingsErrors.error('setting-malformed', { setting, value: text, expected, example });
  }
  return value;
}

/** `1h`, `90s`, `15m`, `500ms`, `2d`: one number and one unit. Throws `setting-malformed`. */
export function parseDuration(text: string, setting: string): DurationMs {
  return millis(parseQuantity(text, 'duration', setting));
}

/** The shortest text that parses back to the value. */
export function formatQuantity(value: number, unit: QuantityUnit): string {
  const units = Object.entries(scales[unit].units);
  const [suffix, factor] = units.find(([, size]) => value !== 0 && value % size === 0) ?? units.at(-1) ?? ['', 1];
  return `${value / factor}${suffix}`;
}
