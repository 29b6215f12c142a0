// Reading the fields of an API object: each reader gives the value, or keeps a problem with the field's path and gives
// nothing, so that all problems are found at once. Absent is never wrong by itself. Must not know which fields there are.
import type { DurationMs } from '../clock.ts';
import { isRecord } from '../is-record.ts';
import type { LeafgateError } from '../errors.ts';
import { egressGatewayErrors } from './egress-gateway-errors.ts';
import type { TextRule } from './kubernetes-names.ts';
import { byteQuantityText, goDurationText, parseByteQuantity, parseGoDuration } from './kubernetes-quantities.ts';
import { nearestWord } from './nearest-word.ts';
import { shownValue } from './shown-value.ts';

/** `value` is undefined where the field is absent */
export type Field = { readonly path: string; readonly value: unknown };

type Meant = { readonly expected: string; readonly example: string };
type Range = { readonly least: number; readonly most: number };

/** the fields of a map by their names; only those that the map was read for are known */
export type FieldMap = (key: string) => Field;

export class FieldReader {
  readonly keep: (problem: LeafgateError) => void;

  constructor(keep: (problem: LeafgateError) => void) {
    this.keep = keep;
  }

  missing({ path }: Field, hint: string): void {
    this.keep(egressGatewayErrors.error('gateway-field-missing', { field: path, hint }));
  }

  wrong({ path, value }: Field, meant: Meant): void {
    this.keep(egressGatewayErrors.error('gateway-field-wrong', { field: path, value: shownValue(value), ...meant }));
  }

  clash({ path }: Field, detail: string, hint: string): void {
    this.keep(egressGatewayErrors.error('gateway-fields-clash', { field: path, detail, hint }));
  }

  tooMany({ path }: Field, { count, most }: { readonly count: number; readonly most: number }): void {
    this.keep(egressGatewayErrors.error('gateway-too-many', { field: path, count, most }));
  }

  /** An absent map has no fields; `undefined` only for what is no map. Fields that nobody knows are problems. */
  map(field: Field, keys: readonly string[]): FieldMap | undefined {
    const entries = this.entries(field, keys[0] ?? '');
    if (entries === undefined) return undefined;
    for (const key of entries.keys()) {
      if (!keys.includes(key)) this.#unknown(`${field.path}.${key}`, key, keys);
    }
    return (key) => ({ path: `${field.path}.${key}`, value: entries.get(key) });
  }

  /** The own fields of a map, whatever they are called. */
  entries(field: Field, example: string): ReadonlyMap<string, unknown> | undefined {
    const { value } = field;
    if (value === undefined) return new Map();
    if (isRecord(value)) return new Map(Object.entries(value));
    this.wrong(field, { expected: 'a map', example: `${lastKey(field)}: {${example}: …}` });
    return undefined;
  }

  items(field: Field, { most, example }: { readonly most: number; readonly example: string }): readonly Field[] {
    const { path, value } = field;
    if (value === undefined) return [];
    if (!Array.isArray(value)) {
      this.wrong(field, { expected: 'a list', example: `${lastKey(field)}: [${example}]` });
      return [];
    }
    if (value.length > most) this.tooMany(field, { count: value.length, most });
    return Array.from(value.slice(0, most), (item: unknown, index) => ({ path: `${path}[${index}]`, value: item }));
  }

  text(field: Field, rule: TextRule): string | undefined {
    return this.parsed(field, rule, (text) => (rule.isRight(text) ? text : undefined));
  }

  /** A text that must be there; `hint` says how to give it. */
  needed(field: Field, rule: TextRule, hint: string): string | undefined {
    if (field.value === undefined) this.missing(field, hint);
    return this.text(field, rule);
  }

  parsed<Value>(field: Field, meant: Meant, parse: (text: string) => Value | undefined): Value | undefined {
    if (field.value === undefined) return undefined;
    const parsed = typeof field.value === 'string' ? parse(field.value) : undefined;
    if (parsed === undefined) this.wrong(field, { expected: meant.expected, example: exampleOf(field, meant.example) });
    return parsed;
  }

  choice<Choice extends string>(field: Field, choices: readonly Choice[], byDefault: Choice): Choice {
    if (field.value === undefined) return byDefault;
    const chosen = choices.find((choice) => choice === field.value);
    if (chosen === undefined) {
      const nearest = typeof field.value === 'string' ? nearestWord(field.value, choices) : undefined;
      const example = `${lastKey(field)}: ${nearest ?? byDefault}`;
      this.wrong(field, { expected: `one of ${choices.join(', ')}`, example });
    }
    return chosen ?? byDefault;
  }

  flag(field: Field, byDefault: boolean): boolean {
    if (field.value === undefined || typeof field.value === 'boolean') return field.value ?? byDefault;
    this.wrong(field, { expected: 'true or false, without quotes', example: `${lastKey(field)}: ${!byDefault}` });
    return byDefault;
  }

  /** Undefined where it is absent, or a problem. */
  integer(field: Field, { least, most }: Range): number | undefined {
    const { value } = field;
    if (value === undefined) return undefined;
    if (typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most) return value;
    const expected = `a whole number from ${least} to ${most}`;
    this.wrong(field, { expected, example: `${lastKey(field)}: ${least}` });
    return undefined;
  }

  duration(field: Field, range: Range): DurationMs | undefined {
    const expected = `a duration from ${goDurationText(range.least)} to ${goDurationText(range.most)}`;
    return this.parsed(field, { expected, example: '10m or 1h30m' }, (text) => within(parseGoDuration(text), range));
  }

  bytes(field: Field, range: Range): number | undefined {
    const expected = `a size from ${byteQuantityText(range.least)} to ${byteQuantityText(range.most)}`;
    return this.parsed(field, { expected, example: '512Mi or 2Gi' }, (text) => within(parseByteQuantity(text), range));
  }

  #unknown(field: string, key: string, keys: readonly string[]): void {
    const nearest = nearestWord(key, keys);
    const all = `known here are ${keys.join(', ')}; a newer definition of EgressGateway needs a newer controller`;
    const hint = nearest === undefined ? all : `write ${nearest} if that was meant; ${all}`;
    this.keep(egressGatewayErrors.error('gateway-field-unknown', { field, hint }));
  }
}

function within<Value extends number>(value: Value | undefined, { least, most }: Range): Value | undefined {
  return value !== undefined && value >= least && value <= most ? value : undefined;
}

/** `secretName: egress-ca-pool`, or the value alone where the field is an item of a list */
function exampleOf(field: Field, example: string): string {
  const key = lastKey(field);
  return key.endsWith(']') ? example : `${key}: ${example}`;
}

function lastKey({ path }: Field): string {
  return path.slice(path.lastIndexOf('.') + 1);
}
