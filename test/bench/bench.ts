// `npm run bench [-- --quick] [--rounds N] [--contenders a,b] [--sections sds,memory,handshakes,leaf]`: figures of leafgate's
// SDS server beside plain Go's, interleaved, as ratios inside each round. Prints a markdown table; exits 0 whatever it
// says, since a shared machine is no judge.
import { parseArgs } from 'node:util';
import { createTempFolder } from '../support/temp-folder.ts';
import { buildProduct, contenderNames, createBenchAuthority } from './contenders.ts';
import type { ContenderName } from './contenders.ts';
import { benchHandshakes } from './bench-handshakes.ts';
import { benchLeaf } from './bench-leaf.ts';
import { benchMemory } from './bench-memory.ts';
import { benchSds } from './bench-sds.ts';
import type { BenchPlan } from './bench-plan.ts';
import type { Figure } from './measurement.ts';
import { renderTable, verdictOf } from './render-table.ts';

const sections = { sds: benchSds, memory: benchMemory, handshakes: benchHandshakes } as const;
type SectionName = keyof typeof sections;

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

const figures: Figure[] = [];
const asked = values.sections?.replace(/,?leaf/, '');
for (const name of asked === '' ? [] : chosen<SectionName>(asked, ['sds', 'memory', 'handshakes'])) {
  figures.push(...(await sections[name](plan)));
}
const missed = figures.filter((figure) => verdictOf(figure) === 'miss').map(({ title }) => title);
console.log(
  `${plan.rounds} interleaved rounds${values.quick ? ', quick' : ''}, medians; Node ${process.versions.node}\n`,
);
console.log(renderTable(figures));
if (values.sections === undefined || values.sections.includes('leaf')) console.log(`\n${benchLeaf()}`);
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
