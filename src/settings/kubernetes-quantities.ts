// Durations and sizes as Kubernetes writes them: `1h30m` as Go does, `512Mi` as resources are. Exact both ways. Pure.
import { millis, type DurationMs } from '../clock.ts';

const durationUnits: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1000, ms: 1 };
/** no sign, no fraction: neither means anything here */
const durationPattern = /^(?:\d{1,9}(?:h|ms|m|s))+$/;
const durationPart = /(\d+)(h|ms|m|s)/g;

const byteUnits: Readonly<Record<string, number>> = { Gi: 2 ** 30, Mi: 2 ** 20 };
const bytesPattern = /^([1-9]\d{0,6})(Gi|Mi)$/;

/** `10m`, `1h30m`, `0s`; undefined for anything else */
export function parseGoDuration(text: string): DurationMs | undefined {
  if (!durationPattern.test(text)) return undefined;
  const parts = [...text.matchAll(durationPart)];
  return millis(parts.reduce((sum, [, digits, unit = '']) => sum + Number(digits) * (durationUnits[unit] ?? 0), 0));
}

/** `512Mi` or `2Gi`, in bytes; undefined for anything else */
export function parseByteQuantity(text: string): number | undefined {
  const [, digits, unit = ''] = bytesPattern.exec(text) ?? [];
  return digits === undefined ? undefined : Number(digits) * (byteUnits[unit] ?? 0);
}

export function goDurationText(value: number): string {
  return textIn(durationUnits, value);
}

export function byteQuantityText(value: number): string {
  return textIn(byteUnits, value);
}

/** in the largest unit that divides the value */
function textIn(units: Readonly<Record<string, number>>, value: number): string {
  const all = Object.entries(units);
  const [unit, size] = all.find(([, factor]) => value !== 0 && value % factor === 0) ?? all.at(-1) ?? ['', 1];
  return value === 0 ? '0s' : `${value / size}${unit}`;
}
