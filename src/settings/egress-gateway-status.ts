// The status of an EgressGateway as it was last written. Whatever cannot be read is as if it were not there: the status is
// ours, times that matter also stand on the bundle, and a strange one is written anew. Pure.
import { isRecord } from '../is-record.ts';
import type { AnchorStatus, EgressGatewayStatus, StatusCondition } from './egress-gateway-types.ts';

const conditionStatuses = ['True', 'False', 'Unknown'] as const;
const anchorKeys = ['id', 'subject', 'sha256', 'notAfter', 'publishedAt'] as const;
/** as many as the definition lets stand, ours and those of others together */
export const maxConditions = 16;
const maxAnchors = 32;
const maxNames = 8;

type Loose = ReadonlyMap<string, unknown>;

export function readStatus(value: unknown): EgressGatewayStatus {
  const status = mapOf(value);
  const generation = integerOf(status.get('observedGeneration'));
  const bundle = readBundle(mapOf(status.get('bundle')));
  const pool = textsOf(mapOf(status.get('pool')), ['activeID', 'activeSince']);
  const servingTLS = readServing(mapOf(status.get('servingTLS')));
  return {
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    ...(bundle === undefined ? {} : { bundle }),
    ...(pool === undefined ? {} : { pool }),
    ...(servingTLS === undefined ? {} : { servingTLS }),
    conditions: readConditions(status.get('conditions')),
  };
}

function readBundle(map: Loose): EgressGatewayStatus['bundle'] {
  const texts = textsOf(map, ['objectName', 'sha256']);
  const anchors = listOf(map.get('anchors'), maxAnchors).flatMap((item): AnchorStatus[] => {
    const anchor = textsOf(mapOf(item), anchorKeys);
    return anchor === undefined ? [] : [anchor];
  });
  return texts && { ...texts, anchors };
}

function readServing(map: Loose): EgressGatewayStatus['servingTLS'] {
  const texts = textsOf(map, ['secretName']);
  const names = listOf(map.get('requiredDNSNames'), maxNames).filter((name) => typeof name === 'string');
  return texts && { ...texts, requiredDNSNames: names };
}

/** The first of a type counts: the API server keeps them unique. */
function readConditions(value: unknown): readonly StatusCondition[] {
  const byType = new Map<string, StatusCondition>();
  for (const item of listOf(value, maxConditions)) {
    const map = mapOf(item);
    const texts = textsOf(map, ['type', 'reason', 'message', 'lastTransitionTime']);
    const status = conditionStatuses.find((known) => known === map.get('status'));
    const generation = integerOf(map.get('observedGeneration'));
    if (texts === undefined || status === undefined || byType.has(texts.type)) continue;
    byType.set(texts.type, {
      ...{ ...texts, status },
      ...(generation === undefined ? {} : { observedGeneration: generation }),
    });
  }
  return [...byType.values()];
}

function mapOf(value: unknown): Loose {
  return new Map(isRecord(value) ? Object.entries(value) : []);
}

function listOf(value: unknown, most: number): readonly unknown[] {
  return Array.isArray(value) ? value.slice(0, most) : [];
}

function integerOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) ? value : undefined;
}

/** Undefined unless each of them is a text. */
function textsOf<Key extends string>(map: Loose, keys: readonly Key[]): Record<Key, string> | undefined {
  const texts = keys.flatMap((key) => {
    const value = map.get(key);
    return typeof value === 'string' ? [[key, value] as const] : [];
  });
  return texts.length === keys.length ? (Object.fromEntries(texts) as Record<Key, string>) : undefined;
}
