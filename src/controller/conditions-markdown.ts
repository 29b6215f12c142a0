// docs/conditions.md, made from the table of conditions; a test holds the file equal to it. Pure.
import { conditionTable, conditionTypes, type ReasonSpec } from './condition-table.ts';

const head = `# Conditions of an EgressGateway

\`kubectl get egressgateway NAME -o yaml\` shows them under \`status.conditions\`. A condition that is not there is not true: it was not asked for by the spec, or has
not been judged yet. \`observedGeneration\` is the generation of the spec that was judged; \`lastTransitionTime\` moves only when \`status\` does. Match on \`type\` and
\`reason\`, never on the message. A change of status or reason is also an event of the gateway.

The files of a gateway are rendered for the first time when every condition is True, but for what the table names as holding nothing back; from then on each input
is looked at on its own, and what has gone bad leaves its last good value in use. No message, event, status or bundle ever holds a private key.
`;

export function conditionsMarkdown(): string {
  return [head, ...conditionTypes.map(section)].join('\n');
}

function section(type: (typeof conditionTypes)[number]): string {
  const { about, reasons } = conditionTable[type];
  const specs: { readonly [reason: string]: ReasonSpec } = reasons;
  return [
    `## ${type}`,
    '',
    `${about.charAt(0).toUpperCase()}${about.slice(1)}.`,
    '',
    '| status | reason | when | what to do |',
    '|---|---|---|---|',
    ...Object.entries(specs).map(([reason, spec]) => row(reason, spec)),
    '',
  ].join('\n');
}

function row(reason: string, { status, when, remedy, doesNotGate, isChosen }: ReasonSpec): string {
  const remarks = [
    ...(doesNotGate === true ? ['holds no file back'] : []),
    ...(isChosen === true ? ['Ready can be True with it'] : []),
  ];
  const told = [when, ...remarks].join('; ');
  return `| ${status} | \`${reason}\` | ${cell(told)} | ${remedy === '' ? 'nothing' : cell(remedy)} |`;
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}
