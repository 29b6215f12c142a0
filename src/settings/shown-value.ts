// A value of an API object as a message shows it. Key material that stands where it does not belong is never repeated.

/** enough to know it again; a condition holds many problems */
const maxShownChars = 120;
const pemMark = '-----BEGIN';

export function shownValue(value: unknown): string {
  if (typeof value === 'string') {
    if (value.includes(pemMark)) return 'a PEM text';
    const isLong = value.length > maxShownChars;
    return JSON.stringify(isLong ? `${value.slice(0, maxShownChars)}…` : value);
  }
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object' && value !== null) return 'a map';
  return typeof value === 'symbol' || typeof value === 'function' ? `a ${typeof value}` : String(value);
}
