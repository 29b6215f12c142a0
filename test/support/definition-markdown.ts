// The page of the fields of EgressGateway, made from the shipped definition: what a person looks up is what the API server
// holds them to.
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

type Schema = {
  readonly type?: string;
  readonly description?: string;
  readonly default?: string | number | boolean | object;
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
};

type Definition = {
  readonly spec: {
    readonly versions: readonly [{ readonly schema: { readonly openAPIV3Schema: Schema } }];
  };
};

type Row = { readonly path: string; readonly schema: Schema; readonly isNeeded: boolean };

const file = new URL('../../deploy/controller/egressgateways.leafgate.dev.yaml', import.meta.url);
/** the rules that are only tried are written like the others */
const toldElsewhere = 'spec.policy.dryRun.rules';

export function definitionMarkdown(): string {
  const definition = parse(readFileSync(file, 'utf8')) as Definition;
  const { spec, status } = definition.spec.versions[0].schema.openAPIV3Schema.properties ?? {};
  if (spec === undefined || status === undefined) throw new Error('the definition has no spec or no status');
  return [
    '# EgressGateway, field by field',
    '',
    'Made from `deploy/controller/egressgateways.leafgate.dev.yaml`; [egress-gateway.md](egress-gateway.md) explains it. Durations are written as Go does (`90s`, `1h30m`), sizes as',
    'Kubernetes does (`512Mi`). **Bold** fields must be there where the field around them is.',
    '',
    ...table(['field', 'kind', 'default', 'what'], rowsOf('spec', spec), specCells),
    '',
    '## Status',
    '',
    ...table(['field', 'kind', 'what'], rowsOf('status', status), ({ schema }) => [
      kindOf(schema),
      schema.description ?? '',
    ]),
    '',
  ].join('\n');
}

function rowsOf(path: string, schema: Schema): readonly Row[] {
  const inner = schema.items ?? schema;
  const place = schema.items === undefined ? path : `${path}[]`;
  if (path === toldElsewhere) return [];
  return Object.entries(inner.properties ?? {}).flatMap(([key, field]) => {
    const row = { path: `${place}.${key}`, schema: field, isNeeded: inner.required?.includes(key) === true };
    return [row, ...rowsOf(row.path, field)];
  });
}

function table(heads: readonly string[], rows: readonly Row[], cells: (row: Row) => readonly string[]): string[] {
  const line = (texts: readonly string[]): string =>
    `| ${texts.map((text) => text.replaceAll('|', '\\|')).join(' | ')} |`;
  return [
    line(heads),
    `|${heads.map(() => '---').join('|')}|`,
    ...rows.map((row) => line([row.isNeeded ? `**\`${row.path}\`**` : `\`${row.path}\``, ...cells(row)])),
  ];
}

/** what the definition does not write into objects is told at the end of the words */
const toldDefault = /Default:? ([0-9]\w*|true|false)\.$/;

function specCells({ path, schema }: Row): readonly string[] {
  const { description = '', default: byDefault } = schema;
  const text = path === toldElsewhere ? 'As `spec.policy.rules`.' : description;
  const shown = typeof byDefault === 'object' ? undefined : (byDefault ?? toldDefault.exec(description)?.[1]);
  return [kindOf(schema), shown === undefined ? '' : `\`${String(shown)}\``, text];
}

function kindOf(schema: Schema): string {
  const { type = '', items, minimum, maximum, maxLength, maxItems, maxProperties } = schema;
  if (schema.enum !== undefined) return schema.enum.map((value) => `\`${value}\``).join(', ');
  if (type === 'integer') return minimum === undefined || maximum === undefined ? type : `${minimum} to ${maximum}`;
  if (type === 'string') return maxLength === undefined ? type : `text, at most ${maxLength}`;
  if (type === 'array') {
    const of = items?.type === 'string' ? ` of texts, each at most ${items.maxLength ?? '?'}` : '';
    const numbers = items?.type === 'integer' ? ` of ${items.minimum ?? '?'} to ${items.maximum ?? '?'}` : '';
    return `list${of}${numbers}, at most ${maxItems ?? '?'}`;
  }
  if (maxProperties !== undefined) return `map of texts, at most ${maxProperties}`;
  return type === 'object' ? 'map' : type;
}
