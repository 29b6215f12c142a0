// What a request to the probe asks for: its method, path and parameters, all problems at once. Pure: a request line
// and headers in, a question or a refusal out. Must not know sockets or how a fetch is made.
import { LeafgateError } from '../errors.ts';
import { parseIpAddress } from '../names/ip-address.ts';
import { isLoopback } from '../settings/parse-listen.ts';
import { maxUrlChars, parseFetchTarget } from '../transport/fetch-target.ts';
import { probeErrors } from './probe-errors.ts';
import { eachProblem, together } from './problem-list.ts';

export type FetchQuestion = { readonly url: string; readonly roots: 'bundle' | 'system'; readonly dial?: string };

export type ProbeQuestion =
  | { readonly kind: 'live' }
  | { readonly kind: 'fetch'; readonly fetch: FetchQuestion }
  | { readonly kind: 'refused'; readonly status: 400 | 403 | 404 | 405 | 414; readonly error: LeafgateError };

export type ProbeRequestLine = {
  readonly method: string;
  /** as sent: path and query */
  readonly target: string;
  readonly host: string;
  /** the address of this end of the connection */
  readonly localAddress: string;
  readonly isFromPage: boolean;
};

/** the URL, percent-encoded at worst, and the other parameters */
const maxTargetChars = 3 * maxUrlChars + 1024;
const parameterNames: ReadonlySet<string> = new Set(['url', 'roots', 'dial']);

/** `allowedHosts`: further names that the probe answers to, lower case, without port. */
export function readProbeQuestion(line: ProbeRequestLine, allowedHosts: ReadonlySet<string>): ProbeQuestion {
  if (!isOwnHost(line, allowedHosts)) {
    return refused(403, probeErrors.error('probe-host-refused', { host: line.host }));
  }
  if (line.isFromPage) return refused(403, probeErrors.error('probe-browser-refused'));
  if (line.target.length > maxTargetChars) {
    return refused(414, probeErrors.error('probe-request-too-long', { limit: maxTargetChars }));
  }
  const [path, query = ''] = splitOnce(line.target, '?');
  if (path !== '/fetch' && path !== '/livez') return refused(404, probeErrors.error('probe-path-unknown'));
  if (line.method !== 'GET') return refused(405, probeErrors.error('probe-method-refused', { method: line.method }));
  return path === '/livez' ? { kind: 'live' } : readFetchQuestion(new URLSearchParams(query));
}

/**
 * A page can point a name of its own at this machine (DNS rebinding), but the browser still sends that name as Host.
 * So: loopback, the address that was connected to, or a name that someone allowed.
 */
function isOwnHost({ host, localAddress }: ProbeRequestLine, allowedHosts: ReadonlySet<string>): boolean {
  const name = host.toLowerCase().replace(/:\d*$/, '');
  if (name === 'localhost' || allowedHosts.has(name)) return true;
  const address = parseIpAddress(name.startsWith('[') && name.endsWith(']') ? name.slice(1, -1) : name);
  if (address === undefined) return false;
  // a dual-stack socket tells of an IPv4 peer as ::ffff:1.2.3.4
  return isLoopback(address) || address.text === parseIpAddress(localAddress.replace(/^::ffff:(?=\d+\.)/i, ''))?.text;
}

function readFetchQuestion(parameters: URLSearchParams): ProbeQuestion {
  const problems: LeafgateError[] = [];
  for (const name of new Set(parameters.keys())) {
    if (!parameterNames.has(name)) problems.push(probeErrors.error('probe-parameter-unknown', { name }));
    else if (parameters.getAll(name).length > 1) problems.push(probeErrors.error('probe-parameter-repeated', { name }));
  }
  const url = parameters.get('url');
  const roots = parameters.get('roots');
  const dial = parameters.get('dial') ?? undefined;
  if (url === null) problems.push(probeErrors.error('probe-parameter-missing', { name: 'url' }));
  else problems.push(...targetProblems(url, dial));
  if (roots === null) problems.push(probeErrors.error('probe-parameter-missing', { name: 'roots' }));
  else if (!isRoots(roots)) problems.push(probeErrors.error('probe-roots-unknown', { roots }));
  if (url === null || roots === null || !isRoots(roots) || problems.length > 0) return refused(400, together(problems));
  return { kind: 'fetch', fetch: { url, roots, ...(dial === undefined ? {} : { dial }) } };
}

function targetProblems(url: string, dial: string | undefined): readonly LeafgateError[] {
  try {
    parseFetchTarget(url, dial);
    return [];
  } catch (thrown) {
    return eachProblem(LeafgateError.from(thrown));
  }
}

function isRoots(text: string): text is FetchQuestion['roots'] {
  return text === 'bundle' || text === 'system';
}

function refused(status: Extract<ProbeQuestion, { kind: 'refused' }>['status'], error: LeafgateError): ProbeQuestion {
  return { kind: 'refused', status, error };
}

function splitOnce(text: string, separator: string): readonly [string, string?] {
  const at = text.indexOf(separator);
  return at === -1 ? [text] : [text.slice(0, at), text.slice(at + separator.length)];
}
