// `npm run bench [-- --quick] [--rounds N] [--contenders a,b] [--sections sds,memory,handshakes,leaf,gateway,
// rules,controller,trust]`: figures of leafgate's SDS server beside plain Go's, of its gateway beside other intercepting
// proxies, of its controller and its trust delivery beside the least that does the same, interleaved, as ratios inside each
// round. Prints markdown tables; exits 0 whatever they say, since a shared machine is no judge.
import { parseArgs } from 'node:util';
import { createTempFolder } from '../support/temp-folder.ts';
import { buildProduct, contenderNames, createBenchAuthority } from './contenders.ts';
import type { ContenderName } from './contenders.ts';
import { benchController } from './bench-controller.ts';
import { benchHandshakes } from './bench-handshakes.ts';
import { benchGateway } from './bench-gateway.ts';
import { benchLeaf } from './bench-leaf.ts';
import { benchMemory } from './bench-memory.ts';
import { benchRules } from './bench-rules.ts';
import { benchSds } from './bench-sds.ts';
import { benchTrust } from './bench-trust.ts';
import type { BenchPlan } from './bench-plan.ts';
import type { Figure } from './measurement.ts';
import { renderTable, verdictOf } from './render-table.ts';

const sections = { sds: benchSds, memory: benchMemory, handshakes: benchHandshakes } as const;
/** sections with a table or a sentence of their own */
const tables = {
  leaf: () => Promise.resolve(benchLeaf()),
  gateway: benchGateway,
  rules: benchRules,
  controller: benchController,
  trust: benchTrust,
} as const;
type SectionName = keyof typeof sections;
type TableName = keyof typeof tables;

const tableNames: readonly TableName[] = ['leaf', 'gateway', 'rules', 'controller', 'trust'];
const sectionNames: readonly (SectionName | TableName)[] = ['sds', 'memory', 'handshakes', ...tableNames];

function isOfSds(name: SectionName | TableName): name is SectionName {
  return name in sections;
}

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    rounds: { type: 'string' },
    contenders: { type: 'string' },
    sections: { type: 'string' },
  },
});

await buildProduct();
const folder = createTempFolder();
const plan: BenchPlan = {
  folder,
  authority: createBenchAuthority(folder),
  contenders: chosen<ContenderName>(values.contenders, contenderNames),
  rounds: Number(values.rounds ?? (values.quick ? 2 : 5)),
  scale: values.quick ? 0.2 : 1,
  progress: (sentence) => process.stderr.write(`bench: ${sentence}\n`),
};

const asked = chosen(values.sections, sectionNames);
const figures: Figure[] = [];
for (const name of asked.filter(isOfSds)) figures.push(...(await sections[name](plan)));
const missed = figures.filter((figure) => verdictOf(figure) === 'miss').map(({ title }) => title);
console.log(
  `${plan.rounds} interleaved rounds${values.quick ? ', quick' : ''}, medians; Node ${process.versions.node}\n`,
);
if (figures.length > 0) console.log(renderTable(figures));
for (const name of tableNames.filter((table) => asked.includes(table))) console.log(`\n${await tables[name](plan)}`);
const judged = figures.some((figure) => ['pass', 'miss'].includes(verdictOf(figure) ?? ''));
console.log(
  !judged ? '\nnothing was judged' : missed.length === 0 ? '\nall expectations met' : `\nmissed: ${missed.join('; ')}`,
);
folder.remove();

function chosen<Name extends string>(given: string | undefined, known: readonly Name[]): readonly Name[] {
  if (given === undefined) return known;
  return given.split(',').map((text) => {
    const name = known.find((one) => one === text);
    if (name === undefined) throw new Error(`unknown: ${text}; known: ${known.join(', ')}`);
    return name;
  });
}
