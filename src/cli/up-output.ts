// What `up` prints: for people a banner, sentences and a line a request; for programs (`--json`) one JSON object a line on
// stdout, a `ready` event first, records, a `stopped` event last. Must not know how a gateway is started.
import { formatQuantity } from '../settings/quantities.ts';
import type { Clock } from '../clock.ts';
import type { LeafgateError } from '../errors.ts';
import type { AccessRecord } from '../observe/access-record.ts';
import { formatRecordLine } from '../observe/format-record.ts';
import type { Log } from '../observe/log.ts';
import type { TrustFiles } from '../projection/trust-files.ts';
import { trustNames } from './trust-names.ts';

export type FrontFacts = {
  readonly url: string;
  /** of the certificate that clients are shown */
  readonly subject: string;
  readonly notAfter: string;
  /** whether clients are asked for certificates, which name the actor */
  readonly asksForCertificates: boolean;
};

export type ReadyFacts = {
  readonly version: string;
  readonly proxyUrl: string;
  /** TLS to the proxy, where it has a certificate */
  readonly front: FrontFacts | undefined;
  /** port that connections are redirected to */
  readonly transparentPort: number | undefined;
  readonly trust: TrustFiles;
  readonly stateFolder: string;
  readonly ca: { readonly id: string; readonly subject: string; readonly notAfter: string };
  /** how this person runs a command through the gateway */
  readonly runCommand: string;
  /** one that is intercepted; undefined where none is known */
  readonly hostToTry: string | undefined;
};

/** `interrupted`: a signal ended the start; `forced`: somebody did not want to wait for open connections */
export type StopCause =
  | { readonly cause: 'signal'; readonly signal: NodeJS.Signals }
  | { readonly cause: 'interrupted'; readonly signal: NodeJS.Signals }
  | { readonly cause: 'forced' }
  | { readonly cause: 'error'; readonly error: LeafgateError };

export type UpOutput = {
  readonly poolCreated: (file: string) => void;
  readonly progress: (sentence: string) => void;
  readonly record: (record: AccessRecord) => void;
  /** whether there are records that have not been printed yet, since something else has to come first */
  readonly isHoldingBack: () => boolean;
  readonly ready: (facts: ReadyFacts) => void;
  /** told how long open connections get; 0 for not at all, or where none is open */
  readonly stopping: (drainMs: number) => void;
  /** only the first call counts */
  readonly stopped: (cause: StopCause) => void;
};

type Printers = { readonly stdout: (text: string) => void; readonly say: (sentence: string) => void };

export function outputForPeople({ stdout, say }: Printers): UpOutput {
  return {
    poolCreated: (file) => say(`made a CA pool, once: ${file}`),
    progress: say,
    record: (record) => stdout(`${formatRecordLine(record)}\n`),
    isHoldingBack: () => false,
    ready: (facts) => say(banner(facts)),
    stopping: (drainMs) => {
      const wait = formatQuantity(drainMs, 'duration');
      say(drainMs > 0 ? `stopping: open connections get ${wait}; Ctrl-C again ends them at once` : 'stopping');
    },
    stopped: (cause) => {
      const sentence = stopSentence(cause);
      if (sentence !== undefined) say(sentence);
    },
  };
}

/** an error is printed as every other is */
function stopSentence(stop: StopCause): string | undefined {
  switch (stop.cause) {
    case 'signal':
      return 'stopped';
    case 'interrupted':
      return `stopped by ${stop.signal} before the gateway was up`;
    case 'forced':
      return 'stopped at once, as the second signal asked: what was still open has been cut off';
    case 'error':
      return undefined;
    default:
      return stop satisfies never;
  }
}

/** records of clients that came before the self-check had passed; more than these are not held back for `ready` */
const mostHeldBack = 1_000;

type JsonParts = {
  readonly stdout: (text: string) => void;
  readonly log: Log;
  readonly clock: Pick<Clock, 'now'>;
};

export function outputForPrograms({ stdout, log, clock }: JsonParts): UpOutput {
  const print = (value: object): void => stdout(`${JSON.stringify(value)}\n`);
  const event = (name: string, rest: object): void => {
    print({ event: name, time: new Date(clock.now()).toISOString(), ...rest });
  };
  let heldBack: AccessRecord[] | undefined = [];
  const release = (): void => {
    heldBack?.forEach(print);
    heldBack = undefined;
  };
  let isStopped = false;
  return {
    poolCreated: (file) => log.info('made a CA pool, once', { path: file }),
    progress: (sentence) => log.info('starting', { detail: sentence }),
    record: (record) => {
      if (heldBack !== undefined && heldBack.length < mostHeldBack) heldBack.push(record);
      else print(record);
    },
    isHoldingBack: () => heldBack !== undefined && heldBack.length > 0,
    ready: ({ version, proxyUrl, front, transparentPort, trust, stateFolder, ca }) => {
      const tls = front === undefined ? {} : { tlsUrl: front.url };
      const redirected = transparentPort === undefined ? {} : { transparentPort };
      event('ready', {
        version,
        proxyUrl,
        ...tls,
        ...redirected,
        trust: trustNames(trust),
        ca: { id: ca.id, subject: oneLine(ca.subject), notAfter: ca.notAfter },
        stateFolder,
      });
      release();
    },
    stopping: () => undefined,
    stopped: (cause) => {
      if (isStopped) return;
      isStopped = true;
      release();
      event('stopped', stopFields(cause));
    },
  };
}

function stopFields(cause: StopCause): object {
  if (cause.cause !== 'error') return cause;
  const { problems } = cause.error;
  const all = problems.length === 0 ? {} : { problems: problems.map(problemFields) };
  return { cause: cause.cause, ...problemFields(cause.error), ...all };
}

function problemFields({ code, message, remedy }: LeafgateError): object {
  return { code, message, remedy };
}

/** a distinguished name has a line for each part */
function oneLine(subject: string): string {
  return subject.replaceAll('\n', ', ');
}

function frontLine({ url, subject, notAfter, asksForCertificates }: FrontFacts): string {
  const actors = asksForCertificates ? "; clients' certificates name the actor" : '';
  return `  TLS    ${url}, certificate of ${subject || 'no subject'}, valid to ${notAfter.slice(0, 10)}${actors}`;
}

function banner(facts: ReadyFacts): string {
  const { version, proxyUrl, front, transparentPort, trust, ca, runCommand, hostToTry } = facts;
  return [
    `leafgate ${version}: gateway on ${proxyUrl}`,
    ...(front === undefined ? [] : [frontLine(front)]),
    ...(transparentPort === undefined ? [] : [`  takes  redirected connections on port ${transparentPort}`]),
    `  CA     ${ca.id}, ${oneLine(ca.subject)}, valid to ${ca.notAfter.slice(0, 10)}`,
    `  trust  ${trust.caFile} (the CA alone)`,
    `         ${trust.mergedFile} (with the system's roots)`,
    `  check  with these files a request succeeds, with the system's roots it fails: both shown`,
    ...(hostToTry === undefined ? [] : [`  try    ${runCommand} curl https://${hostToTry}/`]),
  ].join('\n');
}
