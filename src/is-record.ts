// Whether something that was parsed is an object with members, which is where every reader of JSON begins.

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
