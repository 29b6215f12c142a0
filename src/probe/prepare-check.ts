// What a person gave to `probe check` and `probe serve`, checked as a whole before anything is sent: every problem at
// once, and no trust that could not verify its target (coder/coder-k8s#275: a trust that would silently not apply is
// worse than none). Must not know how flags are read.
import { LeafgateError } from '../errors.ts';
import type { EpochMs } from '../clock.ts';
import { parseFetchTarget } from '../transport/fetch-target.ts';
import { parseHttpProxy } from '../transport/http-proxy.ts';
import type { HttpProxy } from '../transport/http-proxy.ts';
import type { ServerTrust } from '../transport/server-trust.ts';
import { systemTrust } from '../transport/system-trust.ts';
import { createTrustFile } from '../transport/trust-file.ts';
import type { TrustFile } from '../transport/trust-file.ts';
import { withoutCredentials } from '../transport/without-credentials.ts';
import { probeErrors } from './probe-errors.ts';
import { eachProblem, together } from './problem-list.ts';

export type ProbeRequest = {
  /** the bundle when --ca is not given, such as the ca.pem of the state folder */
  readonly defaultCaFile: string;
  /** --ca */
  readonly caFile?: string;
  /** --server-name, for both halves: else the system half would fail by name and show nothing */
  readonly serverName?: string;
  /** --system-roots: a file instead of the machine's own */
  readonly systemRootsFile?: string;
  /** a URL; absent: straight to the server */
  readonly proxy?: string;
  /** --dial HOST:PORT */
  readonly dial?: string;
  readonly now: EpochMs;
};

export type PreparedProbe = {
  readonly bundleFile: TrustFile;
  readonly systemFile: TrustFile;
  readonly bundle: ServerTrust;
  readonly system: ServerTrust;
  readonly proxy?: HttpProxy;
};

/** For `probe check`; throws one error with all problems of URLs, trusts and proxy. */
export async function prepareCheck(urls: readonly string[], request: ProbeRequest): Promise<PreparedProbe> {
  const problems = urls.length === 0 ? [probeErrors.error('probe-no-url')] : urlProblems(urls, request);
  return prepare(request, problems);
}

/** For `probe serve`, where URLs come later. */
export async function prepareServe(request: ProbeRequest): Promise<PreparedProbe> {
  return prepare(request, []);
}

async function prepare(request: ProbeRequest, found: readonly LeafgateError[]): Promise<PreparedProbe> {
  const [proxy, bundle, system] = await Promise.all([
    tried(() => (request.proxy === undefined ? undefined : parseHttpProxy(request.proxy))),
    tried(() => readBundle(request)),
    tried(() => readSystemRoots(request)),
  ]);
  if (proxy.isDone && bundle.isDone && system.isDone && found.length === 0) {
    return { ...bundle.value, ...system.value, ...(proxy.value === undefined ? {} : { proxy: proxy.value }) };
  }
  const failed = [proxy, bundle, system].flatMap((outcome) => (outcome.isDone ? [] : [outcome.problem]));
  throw together([...found, ...failed]);
}

async function readBundle(request: ProbeRequest): Promise<Pick<PreparedProbe, 'bundleFile' | 'bundle'>> {
  const bundleFile = createTrustFile({ path: request.caFile ?? request.defaultCaFile, ...serverNameOf(request) });
  const bundle = await bundleFile.current();
  const reason = whyNothing(bundle, request.now);
  if (reason !== undefined) throw probeErrors.error('probe-ca-verifies-nothing', { source: bundle.source, reason });
  return { bundleFile, bundle };
}

async function readSystemRoots(request: ProbeRequest): Promise<Pick<PreparedProbe, 'systemFile' | 'system'>> {
  const roots = request.systemRootsFile === undefined ? {} : { rootsFile: request.systemRootsFile };
  const systemFile = await systemTrust({ ...roots, ...serverNameOf(request) });
  return { systemFile, system: await systemFile.current() };
}

function serverNameOf({ serverName }: ProbeRequest): { readonly serverName?: string } {
  return serverName === undefined ? {} : { serverName };
}

/** Why no server can be verified with this trust at all; undefined when one could be. */
function whyNothing({ anchors }: ServerTrust, now: EpochMs): string | undefined {
  const usable = anchors.filter(({ isAnchor }) => isAnchor);
  if (usable.length === 0) return 'it holds no CA certificate, only certificates of servers';
  return usable.every(({ notAfter }) => notAfter < now) ? 'every CA certificate in it has expired' : undefined;
}

function urlProblems(urls: readonly string[], request: ProbeRequest): readonly LeafgateError[] {
  return urls.flatMap((url) => {
    try {
      parseFetchTarget(url, request.dial);
      return [];
    } catch (thrown) {
      return eachProblem(LeafgateError.from(thrown)).map((problem) => withOptions(problem, url, request));
    }
  });
}

/** The same fault says more when someone asked for a trust: it is the trust that cannot apply. */
function withOptions(problem: LeafgateError, url: string, { caFile, serverName }: ProbeRequest): LeafgateError {
  const given = [...(caFile === undefined ? [] : ['--ca']), ...(serverName === undefined ? [] : ['--server-name'])];
  if (problem.code !== 'fetch-url-not-https' || given.length === 0) return problem;
  return probeErrors.error('probe-trust-without-tls', {
    options: given.join(' and '),
    url: withoutCredentials(url),
  });
}

type Tried<T> =
  { readonly isDone: true; readonly value: T } | { readonly isDone: false; readonly problem: LeafgateError };

async function tried<T>(run: () => T | Promise<T>): Promise<Tried<T>> {
  try {
    return { isDone: true, value: await run() };
  } catch (thrown) {
    return { isDone: false, problem: LeafgateError.from(thrown) };
  }
}
