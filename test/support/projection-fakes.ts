// A resolver and writers for whoever joins the two, without a backend and without a disk: both do what the test says.
import { exitCodes, LeafgateError } from '../../src/errors.ts';
import type { BundleProblem, BundleResolver, ResolvedSource } from '../../src/projection/resolve-bundles.ts';
import type { VolumeWriter, WantedFile } from '../../src/projection/write-volume.ts';
import type { Pem } from '../../src/x509/certificate-types.ts';

export function testError(code: string, message = code): LeafgateError {
  return new LeafgateError(code, { message, remedy: 'mend it', exitCode: exitCodes.failed });
}

export const pending = Symbol('no answer yet');

/** a text is a good bundle */
type Answer = string | typeof pending | BundleProblem;

export type FakeResolver = BundleResolver & {
  /** what a name stands for from now on: a text is a good bundle; tells of the change */
  say(answers: Readonly<Record<string, Answer>>): void;
  isClosed(): boolean;
};

export function refusal(cause: BundleProblem['cause'], bundle: string, code = `test-${cause}`): BundleProblem {
  return { cause, bundle, error: testError(code, `${bundle} is bad`) };
}

export function createFakeResolver(first: Readonly<Record<string, Answer>> = {}): FakeResolver {
  const known = new Map(Object.entries(first));
  const listeners: (() => void)[] = [];
  let isClosed = false;
  const answerFor = (names: readonly string[]): ResolvedSource => {
    let text = '';
    for (const name of names) {
      const answer = known.get(name) ?? refusal('unknown-name', name);
      if (answer === pending) return { kind: 'pending' };
      if (typeof answer === 'object') return { kind: 'refused', problem: answer };
      text += answer;
    }
    return { kind: 'ready', pemBundle: text as Pem };
  };
  return {
    resolve: answerFor,
    onChange: (listener) => void listeners.push(listener),
    close: async () => void (isClosed = true),
    say: (answers) => {
      for (const [name, answer] of Object.entries(answers)) known.set(name, answer);
      for (const listener of listeners) listener();
    },
    isClosed: () => isClosed,
  };
}

export type FakeWriter = VolumeWriter & {
  /** path -> form and text, as on a disk */
  readonly disk: Map<string, { readonly form: WantedFile['form']; readonly text: string }>;
  /** every call, as a word and its paths */
  readonly calls: string[];
  /** paths that cannot be written until they are taken out, and `sweep` */
  readonly broken: Map<string, LeafgateError>;
  /** writing waits for this */
  hold: Promise<void> | undefined;
};

export function createFakeWriter(): FakeWriter {
  const disk: FakeWriter['disk'] = new Map();
  const calls: string[] = [];
  const broken: FakeWriter['broken'] = new Map();
  const writer: FakeWriter = {
    disk,
    calls,
    broken,
    hold: undefined,
    sweep: async () => {
      const error = broken.get('sweep');
      if (error !== undefined) throw error;
      return 0;
    },
    held: async () => new Map([...disk].map(([path, { form }]) => [path, form === 'NSS' ? 'database' : 'file'])),
    write: async (files) => {
      calls.push(`write ${files.map(({ path }) => path).join(' ')}`);
      await writer.hold;
      return files.map(({ path, form, pemBundle }) => {
        const error = broken.get(path);
        if (error !== undefined) return { path, kind: 'failed', error };
        const isSame = disk.get(path)?.text === pemBundle;
        disk.set(path, { form, text: pemBundle });
        return { path, kind: isSame ? 'unchanged' : 'written' };
      });
    },
    removeOthers: async (paths) => {
      const others = [...disk.keys()].filter((path) => !paths.includes(path));
      for (const path of others) disk.delete(path);
      if (others.length > 0) calls.push(`remove ${others.join(' ')}`);
      return others;
    },
    remove: async () => {
      const error = broken.get('');
      if (error !== undefined) throw error;
      calls.push('remove all');
      disk.clear();
    },
  };
  return writer;
}
