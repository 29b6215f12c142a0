// The proxy and trust variables of the shell that doctor was started in: what a client started there would do. Pure.
import { foundOr, skipped, type Check, type CheckResult } from './check-types.ts';
import type { DoctorFacts, EnvironmentFacts } from './doctor-facts.ts';
import { environmentProblems } from './local-problems.ts';
import type { Problem } from './problem-table.ts';

const { problem } = environmentProblems;

export const environmentChecks: readonly Check<DoctorFacts>[] = [
  { id: 'proxy-variables', title: 'proxy variables of this shell', examine: ({ environment }) => proxies(environment) },
  { id: 'no-proxy', title: 'what goes around the proxy', examine: ({ environment }) => noProxy(environment) },
  { id: 'trust-variables', title: 'trust variables of this shell', examine: ({ environment }) => trust(environment) },
];

function proxies({ proxies: set, proxyUrl }: EnvironmentFacts): CheckResult {
  const entries = Object.entries(set);
  if (entries.length === 0) return skipped('none is set');
  const elsewhere = entries.flatMap(([name, value]) => {
    if (proxyUrl === undefined || isSameProxy(value, proxyUrl)) return [];
    return [problem('proxy-elsewhere', { name, value: withoutPassword(value), proxy: proxyUrl })];
  });
  const differing = [...differingPair(set, 'HTTPS_PROXY'), ...differingPair(set, 'HTTP_PROXY')];
  return foundOr([...differing, ...elsewhere], entries.map(([name]) => name).join(', '));
}

function differingPair(set: Readonly<Record<string, string>>, name: string): readonly Problem[] {
  const other = name.toLowerCase();
  const [value, otherValue] = [set[name], set[other]];
  if (value === undefined || otherValue === undefined || isSameProxy(value, otherValue)) return [];
  const shown = { value: withoutPassword(value), otherValue: withoutPassword(otherValue) };
  return [problem('proxy-variables-differ', { name, other, ...shown })];
}

/** clients take a proxy without a scheme for http, and a slash at the end for nothing */
function isSameProxy(one: string, other: string): boolean {
  return bare(one) === bare(other);
}

function bare(url: string): string {
  return url
    .toLowerCase()
    .replace(/^http:\/\//, '')
    .replace(/\/$/, '')
    .replace(/^localhost:/, '127.0.0.1:');
}

/** what is printed may be pasted into a report */
function withoutPassword(url: string): string {
  return url.replace(/\/\/[^/@]*@/, '//…@');
}

const loopback = ['localhost', '127.0.0.1'];

function noProxy({ noProxy: set, proxies: proxiesSet }: EnvironmentFacts): CheckResult {
  const hasProxy = Object.keys(proxiesSet).length > 0;
  const entries = Object.entries(set).flatMap(([name, list]) => {
    return list.split(',').map((entry) => ({ name, entry: entry.trim() }));
  });
  const given = entries.filter(({ entry }) => entry !== '');
  if (!hasProxy && given.length === 0) return skipped('none is set');
  const problems = given.flatMap(({ name, entry }) => entryProblem(name, entry));
  const goesAround = given.some(({ entry }) => entry === '*');
  const missing = loopback.filter((host) => !given.some(({ entry }) => entry === host));
  if (hasProxy && !goesAround && missing.length > 0) {
    problems.push(problem('no-proxy-without-loopback', { missing: missing.join(', ') }));
  }
  return foundOr(problems, given.map(({ entry }) => entry).join(', '));
}

/** what curl, Go, Python and Node do not read alike */
const unread: readonly (readonly [RegExp, string])[] = [
  [/\s/, 'entries are separated by commas, not by spaces'],
  [/:\/\//, 'an entry is a host, not a URL'],
  [/\*./, 'curl and Python know no *'],
  [/\/.*[^\d]|\/$/, 'an entry has no path'],
];

function entryProblem(name: string, entry: string): readonly Problem[] {
  if (entry === '*') return [problem('no-proxy-everything', { name })];
  const reason = unread.find(([sign]) => sign.test(entry))?.[1];
  return reason === undefined ? [] : [problem('no-proxy-entry-unread', { name, entry, reason })];
}

function trust({ trust: variables, proxyUrl, proxies: set }: EnvironmentFacts): CheckResult {
  if (variables.length === 0) return skipped('none is set');
  const leadsHere = proxyUrl !== undefined && Object.values(set).some((value) => isSameProxy(value, proxyUrl));
  const problems = variables.flatMap(({ name, path, unusableBecause: reason, holdsCa }) => {
    if (reason !== undefined) return [problem('trust-variable-broken', { name, path, reason })];
    return leadsHere && holdsCa === false ? [problem('trust-variable-without-ca', { name, path })] : [];
  });
  return foundOr(problems, variables.map(({ name }) => name).join(', '));
}
