// Judges the CA pool of a gateway, by the same code as the sidecar that signs with it, and says which anchors may be
// published. Pure. Private key bytes never leave it: not in an anchor, not in a message.
import { days, epoch, minus, type DurationMs, type EpochMs } from '../clock.ts';
import { problemsOf, type LeafgateError } from '../errors.ts';
import { examinePool, type CaReading, type PoolReading } from '../pool/examine-pool.ts';
import { poolSecretKey } from '../pool/pool-document.ts';
import { bundleText } from '../x509/bundle-text.ts';
import type { Certificate } from '../x509/certificate-types.ts';
import { datesOf } from './certificate-dates.ts';
import type { ReasonOf } from './condition-table.ts';
import type { Judgement, ObjectName, Observed, SecretContent } from './controller-types.ts';
import { timeText } from './bundle-record.ts';
import { maxBundleBytes } from './bundle-text.ts';
import { judge, sayProblems, secretText } from './judge.ts';
import { refuseAnchor } from './refuse-anchor.ts';

export type PoolJudgement = {
  readonly judgement: Judgement<ReasonOf<'CAPoolReady'>>;
  /** each DER once, in the pool's order; empty when none may be published */
  readonly anchors: readonly PoolAnchor[];
  readonly isPublishable: boolean;
  /** of the CA that the pool names for signing, usable or not */
  readonly activeId: string | undefined;
  /** when it may be judged otherwise, past times among them */
  readonly changesAt: readonly EpochMs[];
};

/** `id` is the CA's, as the pool has it */
export type PoolAnchor = { readonly id: string; readonly certificate: Certificate };

export type PoolJudgeTerms = {
  /** of the Secret, there or not */
  readonly secret: ObjectName;
  readonly now: EpochMs;
  readonly allowEd25519: boolean;
  /** a CA that ends sooner does not sign */
  readonly shortestLeafMs: DurationMs;
};

/** a new CA has to be published, activated and trusted everywhere before the old one ends: design section 5, overlap */
const warnBeforeEnd = days(30);

export function judgePool(observed: Observed<SecretContent>, terms: PoolJudgeTerms): PoolJudgement {
  const secret = secretText(terms.secret);
  switch (observed.kind) {
    case 'absent':
      return unpublishable(
        'NotFound',
        `${secret} does not exist: restore it if it was lost, since a new CA is trusted by nobody yet, or create the first with \`leafgate pool create --secret ${terms.secret.namespace}/${terms.secret.name}\``,
      );
    case 'unavailable':
      return unpublishable('Unavailable', `${secret} cannot be read: ${observed.detail}; it is tried again`);
    case 'found':
      return judgeContent(observed.value, terms);
    default:
      return observed satisfies never;
  }
}

function judgeContent(content: SecretContent, terms: PoolJudgeTerms): PoolJudgement {
  const source = secretText(terms.secret);
  const bytes = Object.hasOwn(content.data, poolSecretKey) ? content.data[poolSecretKey]?.reveal() : undefined;
  if (bytes === undefined || bytes.length === 0)
    return unpublishable(
      'Malformed',
      `${source} has nothing under the key ${poolSecretKey}: docs/pool.md has what belongs there`,
    );
  let reading: PoolReading;
  try {
    reading = examinePool(bytes, { ...terms, source });
  } catch (thrown) {
    const problems = problemsOf(thrown);
    const hasNoActive = problems.some(({ code }) => code === 'pool-unknown-active');
    return unpublishable(hasNoActive ? 'NoActiveSigner' : 'Malformed', withRemedy(problems));
  }
  return judgeReading(reading, terms);
}

function judgeReading(reading: PoolReading, terms: PoolJudgeTerms): PoolJudgement {
  const activeId = reading.active.ca;
  const refused = reading.cas.flatMap(whyUnpublishable);
  if (refused.length > 0) return { ...unpublishable('Malformed', refused.join('; ')), activeId };
  const anchors = distinctAnchors(reading.cas);
  const { length } = bundleText(anchors.map(({ certificate }) => certificate));
  if (length > maxBundleBytes)
    return {
      ...unpublishable(
        'Malformed',
        `its anchors have ${length} bytes, and a bundle has at most ${maxBundleBytes}: remove CAs that nobody trusts any more`,
      ),
      activeId,
    };
  const changesAt = changesOf(reading, terms);
  return { judgement: judgeSigner(reading, terms), anchors, isPublishable: true, activeId, changesAt };
}

/** Each certificate's own dates, and those at which the end of the one that signs is warned of, and is too near. */
function changesOf({ active, cas }: PoolReading, { shortestLeafMs }: PoolJudgeTerms): readonly EpochMs[] {
  const certificates = cas.flatMap(({ anchor, value }) => [anchor ?? [], value?.intermediates ?? []].flat());
  const ends = datesOf(active.value === undefined ? [] : [active.value.anchor, ...active.value.intermediates]);
  const soon = [warnBeforeEnd, shortestLeafMs].flatMap((before) => ends.map((end) => minus(end, before)));
  return [...datesOf(certificates), ...soon];
}

/** faults of the form: with one of these nobody can tell which anchors the pool means */
const formFaults: readonly string[] = [
  'pool-duplicate-id',
  'pool-ca-private-key-as-certificate',
  'pool-ca-private-key-as-id',
];

function whyUnpublishable({ ca, anchor, faults }: CaReading): readonly string[] {
  if (anchor === undefined) return [withRemedy(faults)];
  const form = faults.filter(({ code, fields }) => formFaults.includes(code) || fields['field'] === 'ID');
  if (form.length > 0) return [withRemedy(form)];
  const reason = refuseAnchor(anchor);
  return reason === undefined ? [] : [`CA ${ca}: its root ${reason}, and cannot be published: issue the CA again`];
}

function distinctAnchors(cas: readonly CaReading[]): readonly PoolAnchor[] {
  const known = new Map<string, PoolAnchor>();
  for (const { ca, anchor } of cas) {
    if (anchor !== undefined && !known.has(anchor.sha256)) known.set(anchor.sha256, { id: ca, certificate: anchor });
  }
  return [...known.values()];
}

function judgeSigner({ active, cas }: PoolReading, { now }: PoolJudgeTerms): Judgement<ReasonOf<'CAPoolReady'>> {
  if (active.value === undefined) {
    const isExpired = active.faults.some(({ code }) => code === 'pool-ca-expired');
    const message = `${withRemedy(active.faults)}; the anchors are published all the same`;
    return judge('CAPoolReady', isExpired ? 'Expired' : 'SignerNotUsable', message);
  }
  const others = cas.filter((reading) => reading !== active).flatMap(({ faults }) => faults);
  const { anchor, intermediates } = active.value;
  const end = epoch(Math.min(...[anchor, ...intermediates].map(({ notAfter }) => notAfter)));
  const until = timeText(end);
  const remarks = [
    end - now < warnBeforeEnd
      ? `CA ${active.ca} signs only until ${until}: let another CA take over before, as docs/pool.md has it`
      : `CA ${active.ca} signs, until ${until}`,
    ...(others.length > 0 ? [`of no use, and left out by the sidecar: ${sayProblems(others)}`] : []),
  ];
  return judge('CAPoolReady', 'Ready', remarks.join('; '));
}

/** the problems, and what to do about the first of them */
function withRemedy(problems: readonly LeafgateError[]): string {
  const [first] = problems;
  const isEd25519 = first?.code === 'pool-ca-ed25519';
  const remedy = isEd25519 ? 'activate a P-256 CA, or accept the loss with spec.sds.allowEd25519' : first?.remedy;
  return [sayProblems(problems), ...(remedy === undefined ? [] : [remedy])].join(': ');
}

function unpublishable(reason: ReasonOf<'CAPoolReady'>, message: string): PoolJudgement {
  return {
    judgement: judge('CAPoolReady', reason, message),
    anchors: [],
    isPublishable: false,
    activeId: undefined,
    changesAt: [],
  };
}
