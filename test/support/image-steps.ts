// A Dockerfile's steps without a container engine: each stage is a folder, COPY copies, RUN runs there as whoever runs the
// tests. It knows the instructions that our Dockerfile has and refuses any other. What a base image has is given.
import { chmodSync, cpSync, existsSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { makeFolder } from '../../src/make-folder.ts';
import type { ChildEnvironment } from './scrubbed-environment.ts';
import { runCommand } from './run-command.ts';

export type Instruction = { readonly keyword: string; readonly rest: string; readonly line: number };

export type LaidOutImage = {
  /** the folder that stands for `/` */
  readonly root: string;
  readonly user: string;
  readonly workdir: string;
  readonly entrypoint: readonly string[];
  readonly command: readonly string[];
};

export type ImageWorld = {
  /** where the Dockerfile, its .dockerignore and its context are */
  readonly context: string;
  /** an empty folder for the stages */
  readonly dir: string;
  /** files of every base image, by their path in it */
  readonly baseFiles: Readonly<Record<string, string>>;
  /** of RUN */
  readonly env: ChildEnvironment;
};

export function readInstructions(text: string): readonly Instruction[] {
  const lines = text.split('\n').map((content, index) => ({ content, line: index + 1 }));
  return lines
    .filter(({ content }) => content.trim() !== '' && !content.startsWith('#'))
    .map(({ content, line }) => {
      const [, keyword = '', rest = ''] = /^([A-Z]+)\s+(.*\S)\s*$/.exec(content) ?? [];
      if (keyword === '' || rest.endsWith('\\')) throw new Error(`line ${line}: not one instruction on one line`);
      return { keyword, rest, line };
    });
}

/** `--from` of a COPY, its sources and its destination */
export function copyParts(rest: string): { from: string | undefined; sources: readonly string[]; to: string } {
  const words = rest.split(/\s+/);
  const from = words[0]?.startsWith('--from=') === true ? words.shift()?.slice('--from='.length) : undefined;
  return { from, sources: words.slice(0, -1), to: words.at(-1) ?? '' };
}

/** whether a path of the context is sent to the build at all; the file lists what is */
export function isInContext(ignoreText: string, path: string): boolean {
  const rules = ignoreText.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  const [first, ...allowed] = rules;
  if (first !== '*' || allowed.some((rule) => !/^![\w./-]+$/.test(rule)))
    throw new Error('.dockerignore: only `*`, then `!path`');
  return allowed.some((rule) => path === rule.slice(1) || path.startsWith(`${rule.slice(1)}/`));
}

export async function layOutImage(world: ImageWorld): Promise<LaidOutImage> {
  const stages = new Map<string, Stage>();
  let stage: Stage | undefined;
  for (const { keyword, rest, line } of readInstructions(readFileSync(join(world.context, 'Dockerfile'), 'utf8'))) {
    if (keyword === 'ARG' && stage === undefined) continue;
    if (keyword === 'FROM') {
      const name = / AS (\w+)$/.exec(rest)?.[1] ?? `stage-${line}`;
      stage = startStage(join(world.dir, name));
      stages.set(name, stage);
      continue;
    }
    if (stage === undefined) throw new Error(`line ${line}: ${keyword} before FROM`);
    await step(stage, { keyword, rest, line }, { ...world, stages });
  }
  if (stage === undefined) throw new Error('no stage');
  return stage;
}

type Stage = { root: string; user: string; workdir: string; entrypoint: readonly string[]; command: readonly string[] };

function startStage(root: string): Stage {
  makeFolder(root);
  return { root, user: '', workdir: '/', entrypoint: [], command: [] };
}

type StepWorld = ImageWorld & { readonly stages: ReadonlyMap<string, Stage> };

async function step(stage: Stage, { keyword, rest, line }: Instruction, world: StepWorld): Promise<void> {
  switch (keyword) {
    case 'WORKDIR':
      stage.workdir = rest;
      makeFolder(join(stage.root, rest));
      return;
    case 'COPY':
      copy(stage, rest, world);
      return;
    case 'RUN': {
      const options = { env: world.env, cwd: join(stage.root, stage.workdir), deadlineMs: 240_000 };
      const { status, stdout, stderr } = await runCommand('/bin/sh', ['-c', rest], options);
      if (status !== 0) throw new Error(`line ${line}: RUN ${rest}: exit code ${status}\n${stdout}\n${stderr}`);
      return;
    }
    case 'USER':
      stage.user = rest;
      return;
    case 'ENTRYPOINT':
      stage.entrypoint = JSON.parse(rest) as readonly string[];
      return;
    case 'CMD':
      stage.command = JSON.parse(rest) as readonly string[];
      return;
    default:
      throw new Error(`line ${line}: ${keyword} is not known here`);
  }
}

function copy(stage: Stage, rest: string, { context, baseFiles, stages }: StepWorld): void {
  const { from, sources, to } = copyParts(rest);
  const target = to.startsWith('/') ? join(stage.root, to) : join(stage.root, stage.workdir, to);
  for (const source of sources) {
    const path = from === undefined ? fromContext(context, source) : fromStage(stages.get(from), source, baseFiles);
    const into = to.endsWith('/') ? join(target, basename(source)) : target;
    makeFolder(dirname(into));
    // links of node_modules/.bin are relative and stay so
    cpSync(path, into, { recursive: true, verbatimSymlinks: true });
  }
  // as a build made by root leaves it, whatever the umask of whoever runs the tests
  chmodSync(stage.root, 0o755);
}

function fromContext(context: string, source: string): string {
  if (!isInContext(readFileSync(join(context, '.dockerignore'), 'utf8'), source))
    throw new Error(`${source} is not sent`);
  return join(context, source);
}

function fromStage(stage: Stage | undefined, source: string, baseFiles: Readonly<Record<string, string>>): string {
  if (stage === undefined) throw new Error(`no stage to copy ${source} from`);
  const made = join(stage.root, source);
  const path = existsSync(made) ? made : baseFiles[source];
  if (path === undefined) throw new Error(`${source} is in no stage`);
  return path;
}
