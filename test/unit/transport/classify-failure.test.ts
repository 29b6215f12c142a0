import { describe, expect, it } from 'vitest';
import { alertName, classifyFailure } from '../../../src/transport/classify-failure.ts';
import { FetchFailureError } from '../../../src/transport/fetch-result.ts';

const peer = { role: 'proxy', text: 'the proxy 127.0.0.1:3128' } as const;

function coded(code: string): Error {
  return Object.assign(new Error('its text may change'), { code });
}

describe('what was thrown becomes one stable code', () => {
  it.each([
    ['ECONNREFUSED', 'connection-refused'],
    ['ECONNRESET', 'connection-closed'],
    ['EPIPE', 'connection-closed'],
    ['UND_ERR_SOCKET', 'connection-closed'],
    ['UND_ERR_DESTROYED', 'connection-closed'],
    ['EHOSTUNREACH', 'unreachable'],
    ['ENETUNREACH', 'unreachable'],
    ['ENOTFOUND', 'dns'],
    ['EAI_AGAIN', 'dns'],
    ['ETIMEDOUT', 'timeout'],
    ['HPE_INVALID_CONSTANT', 'bad-response'],
    ['UND_ERR_HEADERS_OVERFLOW', 'bad-response'],
    ['ERR_SSL_WRONG_VERSION_NUMBER', 'tls-handshake'],
    ['EPROTO', 'tls-handshake'],
  ])('%s: %s', (thrown, code) => {
    expect(classifyFailure(coded(thrown), peer)).toMatchObject({ kind: 'failed', code });
  });

  it('names the peer in the sentence and by its role', () => {
    expect(classifyFailure(coded('ECONNREFUSED'), peer)).toEqual({
      kind: 'failed',
      code: 'connection-refused',
      peer: 'proxy',
      detail: 'the proxy 127.0.0.1:3128 refused the connection (ECONNREFUSED)',
    });
  });

  it('looks into several attempts and into causes', () => {
    expect(classifyFailure(new AggregateError([coded('ECONNREFUSED'), coded('EHOSTUNREACH')]), peer)).toMatchObject({
      code: 'connection-refused',
    });
    expect(classifyFailure(new Error('outer', { cause: coded('ENOTFOUND') }), peer)).toMatchObject({ code: 'dns' });
  });

  it('keeps a failure that is classified already', () => {
    const failure = { kind: 'failed', code: 'timeout', peer: 'server', detail: 'd' } as const;
    expect(classifyFailure(new FetchFailureError(failure), peer)).toBe(failure);
  });

  it.each([undefined, null, 'text', 7, new Error('no code')])('answers for anything thrown: %s', (thrown) => {
    expect(classifyFailure(thrown, peer)).toMatchObject({ code: 'bad-response' });
  });
});

describe('the name of an alert', () => {
  it.each([
    ['ERR_SSL_TLSV1_UNRECOGNIZED_NAME', 'unrecognized-name'],
    ['ERR_SSL_TLSV1_ALERT_INTERNAL_ERROR', 'internal-error'],
    ['ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE', 'handshake-failure'],
    ['ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE', 'handshake-failure'],
    ['ERR_SSL_WRONG_VERSION_NUMBER', 'wrong-version-number'],
    ['EPROTO', 'eproto'],
  ])('%s is %s', (code, name) => {
    expect(alertName(code)).toBe(name);
  });
});
