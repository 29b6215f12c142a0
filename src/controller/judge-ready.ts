// The summarising condition: the first thing in the way gives the reason, in the order of the table of its reasons, and all
// of them are named. What has not been judged counts as in the way. Pure.
import type { ConditionType, ReasonOf } from './condition-table.ts';
import type { Judgement, Judgements } from './controller-types.ts';
import { findReasonSpec, judge } from './judge.ts';
import { readyReasons } from './ready-reasons.ts';

type Reason = ReasonOf<'Ready'>;

/** what stands in the way and is no condition of its own, with what to say about it */
export type Obstacles = {
  readonly [reason in Obstacle]?: string;
};

type Obstacle =
  | 'InvalidSpec'
  | 'SignerNotAllowed'
  | 'RenderingTooLarge'
  | 'FilesNotWritten'
  | 'DeploymentTaken'
  | 'DeploymentWithoutFiles'
  | 'DeploymentNotFound';

const conditionOf: { readonly [reason in Reason]?: ConditionType } = {
  CAPoolNotReady: 'CAPoolReady',
  TrustBundleNotPublished: 'TrustBundlePublished',
  TLSNotConfigured: 'TLSConfigured',
  ServingTLSSecretNotReady: 'ServingTLSSecretReady',
  OriginCABundleNotResolved: 'OriginCABundleResolved',
  ClientCABundleNotResolved: 'ClientCABundleResolved',
  OriginClientCertificatesNotReady: 'OriginClientCertificatesReady',
};

/** these every gateway has */
const always: readonly ConditionType[] = ['CAPoolReady', 'TrustBundlePublished', 'TLSConfigured'];

export function judgeReady(judgements: Judgements, obstacles: Obstacles): Judgement<Reason> {
  const said = new Map<string, string | undefined>(Object.entries(obstacles));
  const inTheWay = readyOrder.flatMap((reason) => {
    const type = conditionOf[reason];
    const sentence = type === undefined ? said.get(reason) : sayCondition(type, judgements[type]);
    return sentence === undefined ? [] : [{ reason, sentence }];
  });
  const [first] = inTheWay;
  if (first !== undefined) return judge('Ready', first.reason, inTheWay.map(({ sentence }) => sentence).join('; '));
  const isWhole = always.every((type) => judgements[type] !== undefined);
  return isWhole
    ? judge('Ready', 'Ready', 'nothing is in the way')
    : judge('Ready', 'Pending', 'not everything has been judged yet');
}

/** Conditions for which the first rendering of the gateway's files waits. */
export function gatingConditions(judgements: Judgements): readonly ConditionType[] {
  return Object.values(conditionOf).filter((type) => {
    const judgement = judgements[type];
    if (judgement === undefined) return always.includes(type);
    return judgement.status !== 'True' && findReasonSpec(type, judgement.reason)?.doesNotGate !== true;
  });
}

const readyOrder = Object.keys(readyReasons).filter((reason): reason is Reason => Object.hasOwn(readyReasons, reason));

/** What is wrong stands in that condition, and in an event of its own: here it would only be longer. */
function sayCondition(type: ConditionType, judgement: Judgement | undefined): string | undefined {
  if (judgement === undefined || judgement.status === 'True') return undefined;
  if (findReasonSpec(type, judgement.reason)?.isChosen === true) return undefined;
  return `${type} is ${judgement.status}, ${judgement.reason}`;
}
