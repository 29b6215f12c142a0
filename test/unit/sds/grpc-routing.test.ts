// What makes a request a gRPC call of ours, how long a call may last by its own word, and the sentences that peers hear.
import { describe, expect, it } from 'vitest';
import { routeRequest } from '../../../src/sds/grpc-methods.ts';
import { grpcStatus } from '../../../src/sds/grpc-status.ts';
import { parseGrpcTimeout } from '../../../src/sds/grpc-timeout.ts';
import { adsMethod, perNameMethod } from '../../harness/grpc-peer.ts';

const call = { ':method': 'POST', ':path': adsMethod, 'content-type': 'application/grpc' };

describe('a request', () => {
  const served = [
    [call, 'ads'],
    [{ ...call, ':path': perNameMethod }, 'per-name'],
    [{ ...call, 'content-type': 'application/grpc+proto' }, 'ads'],
    [{ ...call, 'content-type': 'application/grpc;charset=utf-8' }, 'ads'],
    [{ ...call, 'grpc-timeout': '99999999H' }, 'ads'],
  ] as const;

  it.each(served)('%j is a stream of kind %s', (headers, kind) => {
    expect(routeRequest(headers)).toBe(kind);
  });

  const turnedAway = [
    [{ ...call, ':method': 'GET' }, { ':status': 405 }],
    [{ ...call, ':method': 'CONNECT', ':path': undefined }, { ':status': 405 }],
    [{ ...call, 'content-type': undefined }, { ':status': 415 }],
    [{ ...call, 'content-type': 'application/json' }, { ':status': 415 }],
    [{ ...call, 'content-type': 'application/grpc-web' }, { ':status': 415 }],
    [{ ...call, ':path': undefined }, { 'grpc-status': 12 }],
    [{ ...call, ':path': `${adsMethod}/` }, { 'grpc-status': 12 }],
    [{ ...call, ':path': '/constructor' }, { 'grpc-status': 12 }],
    [{ ...call, 'grpc-timeout': '123456789S' }, { 'grpc-status': 13 }],
    [{ ...call, 'grpc-timeout': '1h' }, { 'grpc-status': 13 }],
    [{ ...call, 'grpc-timeout': '' }, { 'grpc-status': 13 }],
  ] as const;

  it.each(turnedAway)('%j is turned away with %j', (headers, expected) => {
    expect(routeRequest(headers)).toMatchObject(expected);
  });
});

describe('grpc-timeout', () => {
  const timeouts = [
    [undefined, undefined],
    ['1H', 3_600_000],
    ['2M', 120_000],
    ['3S', 3000],
    ['40m', 40],
    ['5000u', 5],
    ['6000000n', 6],
    ['0S', 0],
    // beyond what a timer can wait: no deadline, and never one that has passed at once
    ['597H', undefined],
    ['596H', 596 * 3_600_000],
    ['99999999H', undefined],
  ] as const;

  it.each(timeouts)('%s is %s ms', (text, expected) => {
    const found = parseGrpcTimeout(text);
    if (expected === undefined) expect(found).toBeUndefined();
    else expect(found).toBeCloseTo(expected, 6);
  });
});

it.each(Object.values(grpcStatus))('the sentence "$sentence" needs no escape in a header', ({ sentence }) => {
  expect(sentence).toMatch(/^[\x20-\x24\x26-\x7e]*$/);
});
