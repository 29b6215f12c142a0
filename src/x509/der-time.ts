// Times in certificates (RFC 5280 4.1.2.5): UTCTime through 2049, GeneralizedTime from 2050, always with seconds and Z.
// It must not know which time it is.
import { epoch, type EpochMs } from '../clock.ts';
import { derTags, type DerValue } from './der-reader.ts';
import { x509Errors } from './x509-errors.ts';

export type DerTime = { readonly tag: number; readonly text: string };

const firstGeneralizedMs = Date.UTC(2050, 0, 1);
const firstUtcMs = Date.UTC(1950, 0, 1);
const lastMs = Date.UTC(9999, 11, 31, 23, 59, 59);

/** Whole seconds; what is below a second is cut. */
export function encodeTime(at: EpochMs): DerTime {
  if (!(at >= firstUtcMs && at <= lastMs)) {
    throw x509Errors.error('leaf-refused', { reason: 'a date outside the years 1950 to 9999' });
  }
  const digits = digitsOf(new Date(at));
  return at < firstGeneralizedMs
    ? { tag: derTags.utcTime, text: `${digits.slice(2)}Z` }
    : { tag: derTags.generalizedTime, text: `${digits}Z` };
}

export function readTime(value: DerValue): EpochMs {
  const text = Buffer.from(value.content).toString('latin1');
  const digits = digitsWithCentury(value.tag, text);
  const match = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/.exec(digits);
  if (match === null)
    throw x509Errors.error('der-malformed', { reason: 'a time that is not of the form RFC 5280 has' });
  const [year, month, day, hour, minute, second] = match.slice(1).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  date.setUTCHours(hour, minute, second);
  if (`${digitsOf(date)}Z` !== digits)
    throw x509Errors.error('der-malformed', { reason: 'a time that does not exist' });
  return epoch(date.getTime());
}

function digitsWithCentury(tag: number, text: string): string {
  if (tag === derTags.generalizedTime) return text;
  if (tag !== derTags.utcTime) throw x509Errors.error('der-malformed', { reason: 'a time of an unknown kind' });
  return `${Number(text.slice(0, 2)) < 50 ? '20' : '19'}${text}`;
}

/** two digits of each number below 100, looked up because a date is written twice a leaf */
const twoDigits: readonly string[] = Array.from({ length: 100 }, (_, number) => String(number).padStart(2, '0'));

/** YYYYMMDDHHMMSS, for years of four digits */
function digitsOf(date: Date): string {
  const year = date.getUTCFullYear();
  const day = two(Math.floor(year / 100)) + two(year % 100) + two(date.getUTCMonth() + 1) + two(date.getUTCDate());
  return day + two(date.getUTCHours()) + two(date.getUTCMinutes()) + two(date.getUTCSeconds());
}

function two(number: number): string {
  return twoDigits[number] ?? '';
}
