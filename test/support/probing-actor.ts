// An actor: its trust folder bound read-only, an environment that `leafgate env` prints for it and nothing else, and in it
// `leafgate probe serve`, which is asked from outside. It never starts anew: what it says later, it says of the files as they are.
import { mkdirSync } from 'node:fs';
import { mainScript } from './gateway-under-test.ts';
import { podAddress, type PodWorld } from './pod-world.ts';
import { runCommand, type CommandResult, type StartedProcess } from './run-command.ts';
import { scrubbedEnvironment } from './scrubbed-environment.ts';
import type { TempFolder } from './temp-folder.ts';
import type { FetchResult } from '../../src/transport/fetch-result.ts';

type ProbeAnswer = FetchResult & { readonly rootsFile: string; readonly rootsSha256: string };

type ProbeQuestion = { readonly roots: 'bundle' | 'system'; readonly dial?: string };

export type ProbingActor = {
  readonly process: StartedProcess;
  /** one fetch, as it went */
  ask(url: string, question: ProbeQuestion): Promise<ProbeAnswer>;
  /** asks again while the certificate is not trusted, until the window is over; any other outcome is the answer at once */
  askUntilTrusted(url: string, question: ProbeQuestion): Promise<ProbeAnswer>;
  /** another program with the actor's folder and environment */
  run(command: readonly string[]): Promise<CommandResult>;
};

export type ActorRequest = {
  readonly pod: PodWorld;
  readonly temp: TempFolder;
  readonly name: string;
  readonly trustDir: string;
  readonly systemRoots: string;
  readonly port: number;
};

/** a kubelet and two projectors may be on their way with a new anchor; nothing but that is waited for */
const certificateWindowMs = 30_000;
const askAgainAfterMs = 250;

/** where the actor sees its folder */
const seenAt = '/mnt';
/** $1 is the folder; what follows is the actor */
const bind = `mount --bind "$1" ${seenAt}; mount -o remount,bind,ro ${seenAt}; shift; exec "$@"`;

export async function startProbingActor(request: ActorRequest): Promise<ProbingActor> {
  const { pod, temp, name, trustDir, systemRoots, port } = request;
  const home = temp.file(`home-${name}`);
  mkdirSync(home);
  const variables = await environmentOf(home);
  const { NODE_EXTRA_CA_CERTS: bundle = '' } = variables;
  const env = Object.entries({ ...scrubbedEnvironment(home), ...variables }).map(([key, value]) => `${key}=${value}`);
  const inside = (command: readonly string[]): readonly string[] => [
    ...['env', '-i', ...env, 'unshare', '--mount', 'sh', '-ec', bind, 'sh', trustDir, ...command],
  ];
  const trusts = ['--ca', bundle, '--system-roots', systemRoots];
  const probe = ['probe', 'serve', '--listen', `127.0.0.1:${port}`, ...trusts];
  const child = pod.start(inside([process.execPath, mainScript, ...probe]));
  await child.waitForOutput(/leafgate probe on/, 60_000);
  const ask = async (url: string, { roots, dial }: ProbeQuestion): Promise<ProbeAnswer> => {
    const query = new URLSearchParams({ url, roots, ...(dial === undefined ? {} : { dial }) });
    const asked = await pod.run([
      'curl',
      '-sS',
      '--max-time',
      '50',
      `http://127.0.0.1:${port}/fetch?${query.toString()}`,
    ]);
    if (asked.status !== 0) throw new Error(`the probe did not answer: ${asked.stderr}`);
    return JSON.parse(asked.stdout) as ProbeAnswer;
  };
  return {
    process: child,
    ask,
    askUntilTrusted: async (url, question) => {
      const end = performance.now() + certificateWindowMs;
      for (;;) {
        const answer = await ask(url, question);
        const isUntrusted = answer.kind === 'failed' && answer.code === 'certificate';
        if (!isUntrusted || performance.now() > end) return answer;
        await new Promise((resolve) => setTimeout(resolve, askAgainAfterMs));
      }
    },
    run: (command) => pod.run(inside(command)),
  };
}

/** what the deployment puts into the actor's container; wget, apt and PHP want files of their own beside the bundles */
async function environmentOf(home: string): Promise<Readonly<Record<string, string>>> {
  const where = ['--dir', seenAt, '--proxy', `http://${podAddress}:3128`, '--without', 'wget,apt,php'];
  const env = scrubbedEnvironment(home);
  const printed = await runCommand(process.execPath, [mainScript, 'env', '--format', 'json', ...where], { env });
  if (printed.status !== 0) throw new Error(printed.stderr);
  return JSON.parse(printed.stdout) as Readonly<Record<string, string>>;
}
