// A table of leafgate beside the least that does the same and a Node that does nothing: medians, and ratios that are taken
// inside each round.
import { shown } from './gateway-table.ts';
import { median } from './measurement.ts';

export type BesideRound<Row extends string, Column extends string> = {
  readonly [row in Row]?: { readonly [column in Column]?: number };
};

type BesideColumn = 'leafgate' | 'least' | 'node';

export type BesideTable<Row extends string, Column extends string> = {
  /** what each row is called */
  readonly rows: { readonly [row in Row]: string };
  readonly columns: readonly Column[];
  /** what each column is, in a line below the table */
  readonly notes: { readonly [column in Column]: string };
  readonly rounds: readonly BesideRound<Row, Column>[];
};

export function renderBeside<Row extends string, Column extends string>({
  rows,
  columns,
  notes,
  rounds,
}: BesideTable<Row, Column | BesideColumn>): string {
  const values = (row: Row, column: Column | BesideColumn): readonly number[] =>
    rounds.flatMap((round) => round[row]?.[column] ?? []);
  const ratio = (row: Row, other: BesideColumn): string => {
    const ratios = rounds.flatMap((round) => {
      const [ours, theirs] = [round[row]?.leafgate, round[row]?.[other]];
      return ours === undefined || theirs === undefined ? [] : [ours / theirs];
    });
    if (ratios.length === 0) return '–';
    return `${median(ratios).toFixed(2)} [${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)}]`;
  };
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  const header = ['', ...columns, 'leafgate / least [range]', 'leafgate / node [range]'];
  return [
    ...[line(header), line(header.map(() => '---'))],
    ...(Object.keys(rows) as Row[]).map((row) => {
      const cells = columns.map((column) => shown(values(row, column)));
      return line([rows[row], ...cells, ratio(row, 'least'), ratio(row, 'node')]);
    }),
    '',
    ...columns.map((column) => `- ${column}: ${notes[column]}`),
  ].join('\n');
}
