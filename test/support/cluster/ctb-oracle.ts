// What Kubernetes itself says of ClusterTrustBundles: the API server's validation, what a kubelet makes of them, and a kubelet's
// volume that follows a live API server. The code is Kubernetes', in a program of test/support/go-cluster.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { startProcess } from '../run-command.ts';
import { scrubbedEnvironment } from '../scrubbed-environment.ts';
import { findTool } from '../tools.ts';
import type { ControlPlane } from './control-plane.ts';

type OracleBundle = {
  readonly name: string;
  readonly signerName: string;
  readonly trustBundle: string;
  /** makes it an update */
  readonly old?: Omit<OracleBundle, 'old'>;
};

type OracleVerdict = {
  readonly ok: boolean;
  readonly errors?: readonly { readonly type: string; readonly field: string; readonly detail: string }[];
};

type OracleSelection = {
  /** whole objects of certificates.k8s.io/v1 */
  readonly bundles: readonly object[];
  readonly name?: string;
  readonly signerName?: string;
  readonly labelSelector?: object;
  readonly optional?: boolean;
};

type OracleProjection = {
  readonly ok: boolean;
  readonly error?: string;
  /** in an order that a kubelet shuffles: compare `sha256` */
  readonly pem: string;
  /** of each certificate's DER, sorted */
  readonly sha256: readonly string[];
};

/** a list of Go that was never filled */
type RawProjection = Omit<OracleProjection, 'sha256'> & { readonly sha256: readonly string[] | null };

export type BundleOracle = {
  validate(bundle: OracleBundle): Promise<OracleVerdict>;
  project(selection: OracleSelection): Promise<OracleProjection>;
  close(): Promise<void>;
};

type Waiting = { readonly resolve: (line: string) => void; readonly reject: (error: Error) => void };

/** One process for as many questions as a property has; it ends with its standard input, and so with this process. */
export function startBundleOracle(): BundleOracle {
  const child = spawn(oraclePath(), ['answer'], { env: scrubbedEnvironment('/'), stdio: 'pipe' });
  const waiting: Waiting[] = [];
  let stderr = '';
  let failure: Error | undefined;
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (stderr += chunk));
  createInterface({ input: child.stdout }).on('line', (line) => waiting.shift()?.resolve(line));
  const ended = new Promise<void>((resolve) => {
    const end = (why: string): void => {
      failure = new Error(`the oracle ended (${why}): ${stderr}`);
      for (const { reject } of waiting.splice(0)) reject(failure);
      resolve();
    };
    child.once('error', (error) => end(error.message)).once('close', (code) => end(`exit ${code}`));
  });
  child.stdin.on('error', () => undefined);
  const ask = async <Answer>(question: object): Promise<Answer> => {
    const line = await new Promise<string>((resolve, reject) => {
      if (failure !== undefined) reject(failure);
      waiting.push({ resolve, reject });
      child.stdin.write(`${JSON.stringify(question)}\n`);
    });
    return JSON.parse(line) as Answer;
  };
  return {
    validate: (bundle) => ask({ validate: bundle }),
    project: async (selection) => withDigests(await ask({ project: selection })),
    close: () => {
      child.stdin.end();
      return ended;
    },
  };
}

export type KubeletVolumeRequest = {
  /** the folder of the volume, as a container would see it; made when it is not there */
  readonly folder: string;
  readonly file: string;
  /** by name a change is seen after five minutes only (kubernetes/kubernetes#141439), by signer at once */
  readonly select: { readonly name: string } | { readonly signerName: string; readonly labelSelector: object };
  readonly optional?: boolean;
};

export type KubeletVolume = {
  readonly pid: number;
  /** what it wrote or could not write, newest last; one entry a change */
  seen(): readonly OracleProjection[];
  stop(): Promise<void>;
};

/** Plays the kubelet's part for one projected volume, with the node's own identity; looks every 100 ms. */
export function startKubeletVolume(plane: ControlPlane, request: KubeletVolumeRequest): KubeletVolume {
  const { folder, file, select, optional = false } = request;
  const selection =
    'name' in select
      ? ['-name', select.name]
      : ['-signer', select.signerName, '-selector', JSON.stringify(select.labelSelector)];
  const args = ['-kubeconfig', plane.user('kubelet').kubeconfigFile, '-dir', folder, '-file', file, '-period', '100ms'];
  const child = startProcess(oraclePath(), ['kubelet', ...args, ...selection, ...(optional ? ['-optional'] : [])], {
    env: scrubbedEnvironment(plane.dir),
  });
  return {
    pid: child.pid,
    seen: () =>
      child
        .stdout()
        .split('\n')
        // the last piece is a line that is not whole yet, or nothing
        .slice(0, -1)
        .map((line) => withDigests(JSON.parse(line) as RawProjection)),
    stop: async () => {
      child.signal('SIGKILL');
      await child.exited;
    },
  };
}

function withDigests(raw: RawProjection): OracleProjection {
  return { ...raw, sha256: raw.sha256 ?? [] };
}

function oraclePath(): string {
  const found = findTool('ctb-oracle');
  if (found.path === undefined) throw new Error(found.missing);
  return found.path;
}
