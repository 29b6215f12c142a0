// What doctor shows: to people a line a check and a block a problem, to programs one object. Pure.
import { isHealthy, type CheckReport } from '../../doctor/check-types.ts';
import type { Problem, Severity } from '../../doctor/problem-table.ts';

const marks: Readonly<Record<Severity | 'ok' | 'skipped', string>> = {
  ok: 'ok      ',
  skipped: '-       ',
  warning: 'warning ',
  fault: 'FAULT   ',
};

export function doctorText(reports: readonly CheckReport[]): string {
  const lines = reports.flatMap(({ title, result }) => {
    if (result.kind !== 'found') return [`${marks[result.kind]}  ${title}: ${result.note}`];
    return result.problems.flatMap((problem) => problemLines(title, problem));
  });
  return `${[...lines, '', summary(reports)].join('\n')}\n`;
}

const indent = ' '.repeat(marks.ok.length);

function problemLines(title: string, { id, severity, what, remedy, line, column }: Problem): readonly string[] {
  const place = line === undefined ? '' : ` (line ${line}, column ${column ?? 1})`;
  return [`${marks[severity]}  ${title}${place}: ${what}`, `${indent}  what to do: ${remedy} [${id}]`];
}

function summary(reports: readonly CheckReport[]): string {
  const problems = problemsIn(reports);
  const faults = problems.filter(({ severity }) => severity === 'fault').length;
  const warnings = problems.length - faults;
  const passed = reports.filter(({ result }) => result.kind === 'ok').length;
  const found = `${count(faults, 'fault')}, ${count(warnings, 'warning')}, ${count(passed, 'check')} passed`;
  return `${isHealthy(reports) ? 'healthy' : 'not healthy'}: ${found}`;
}

function count(many: number, noun: string): string {
  return `${many} ${noun}${many === 1 ? '' : 's'}`;
}

export function doctorJson(reports: readonly CheckReport[]): object {
  return {
    healthy: isHealthy(reports),
    checks: reports.map(({ id, title, result }) => {
      if (result.kind !== 'found') return { id, title, state: result.kind, note: result.note };
      return { id, title, state: worstOf(result.problems), problems: result.problems };
    }),
  };
}

function worstOf(problems: readonly Problem[]): Severity {
  return problems.some(({ severity }) => severity === 'fault') ? 'fault' : 'warning';
}

function problemsIn(reports: readonly CheckReport[]): readonly Problem[] {
  return reports.flatMap(({ result }) => (result.kind === 'found' ? result.problems : []));
}
