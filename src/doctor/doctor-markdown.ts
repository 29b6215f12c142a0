// docs/doctor.md, made from the tables of checks and problems; a test holds the file equal to it. Pure.
import { bootstrapChecks, bootstrapProblemSpecs } from './bootstrap-checks.ts';
import { doctorChecks, doctorProblems } from './doctor-checks.ts';
import type { ProblemSpec } from './problem-table.ts';

export function doctorMarkdown(): string {
  return [
    '# leafgate doctor',
    '',
    '`leafgate doctor` takes the options of `leafgate up` and looks for what would keep such a gateway from working, or keeps the running one from it. It',
    'changes nothing: it reads, asks, and tries whether the state folder can be written with an empty folder that it removes at once. The last question is a',
    'pair of handshakes, with the gateway’s CA and with the roots of the system, through the gateway that runs on the state folder, else through one that lives',
    'for this question alone. The exit code is 0 without a fault (warnings may be there) and 4 with one; `--json` prints one object, `healthy` and `checks`.',
    '',
    '## What it looks at',
    '',
    '| check | what |',
    '|---|---|',
    ...doctorChecks.map(({ id, title }) => `| \`${id}\` | ${cell(title)} |`),
    '',
    '## What it can find',
    '',
    'Match on the id, never on the text. `{…}` is filled in with what was met; a problem that is only `{detail}` passes on an error of [errors.md](errors.md).',
    '',
    ...problemRows(doctorProblems),
    '',
    '## An Envoy of your own',
    '',
    '`leafgate doctor --bootstrap FILE` looks at the bootstrap of somebody’s own Envoy, YAML or JSON, instead: how names are asked for, what a handshake waits',
    'for, what can go around the interception, whether origins are verified, who reaches the admin interface. Each problem has its line and column. It asks',
    'whether the SDS server answers on its socket, and lets an Envoy that is at hand (`--envoy`, else PATH, else the cached one) validate the file, which finds',
    'less than a handshake does: `ads: {}` without an `ads_config` passes, and ends Envoy at the first one.',
    '',
    '| check | what |',
    '|---|---|',
    ...bootstrapChecks.map(({ id, title }) => `| \`${id}\` | ${cell(title)} |`),
    '',
    ...problemRows(bootstrapProblemSpecs),
    '',
  ].join('\n');
}

function problemRows(problems: Readonly<Record<string, ProblemSpec>>): readonly string[] {
  return [
    '| id | how bad | what | what to do |',
    '|---|---|---|---|',
    ...Object.entries(problems).map(
      ([id, { severity, what, remedy }]) => `| \`${id}\` | ${severity} | ${cell(what)} | ${cell(remedy)} |`,
    ),
  ];
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}
