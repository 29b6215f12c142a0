import { describe, expect, it } from 'vitest';
import { readProbeQuestion } from '../../../src/probe/probe-query.ts';
import type { ProbeQuestion, ProbeRequestLine } from '../../../src/probe/probe-query.ts';

const allowed = new Set(['probe.gateway.svc']);
const url = encodeURIComponent('https://api.example.com/a?b=c');

function ask(target: string, line: Partial<ProbeRequestLine> = {}): ProbeQuestion {
  const usual = { method: 'GET', host: '127.0.0.1:8080', localAddress: '127.0.0.1', isFromPage: false };
  return readProbeQuestion({ ...usual, target, ...line }, allowed);
}

function refusalOf(question: ProbeQuestion): { readonly status: number; readonly codes: readonly string[] } {
  if (question.kind !== 'refused') throw new Error(`it was taken as ${question.kind}`);
  const { status, error } = question;
  return { status, codes: error.problems.length === 0 ? [error.code] : error.problems.map(({ code }) => code) };
}

describe('a question to the probe', () => {
  it('is read with its parameters decoded', () => {
    expect(ask(`/fetch?url=${url}&roots=bundle&dial=192.0.2.7%3A443`)).toEqual({
      kind: 'fetch',
      fetch: { url: 'https://api.example.com/a?b=c', roots: 'bundle', dial: '192.0.2.7:443' },
    });
    expect(ask(`/fetch?roots=system&url=${url}`)).toEqual({
      kind: 'fetch',
      fetch: { url: 'https://api.example.com/a?b=c', roots: 'system' },
    });
    expect(ask('/livez')).toEqual({ kind: 'live' });
  });

  it.each([
    ['/fetch', ['probe-parameter-missing', 'probe-parameter-missing']],
    ['/fetch?roots=bundle', ['probe-parameter-missing']],
    [`/fetch?url=${url}`, ['probe-parameter-missing']],
    [`/fetch?url=${url}&roots=`, ['probe-roots-unknown']],
    [`/fetch?url=${url}&roots=both`, ['probe-roots-unknown']],
    [`/fetch?url=${url}&roots=bundle&roots=system`, ['probe-parameter-repeated']],
    [`/fetch?url=${url}&roots=bundle&verify=no`, ['probe-parameter-unknown']],
    [`/fetch?url=http%3A%2F%2Fa.example&roots=bundle`, ['fetch-url-not-https']],
    [`/fetch?url=${url}&roots=bundle&dial=`, ['fetch-dial-invalid']],
    [
      '/fetch?url=http%3A%2F%2Fa.example&dial=x&roots=both&insecure=1',
      ['probe-parameter-unknown', 'fetch-url-not-https', 'fetch-dial-invalid', 'probe-roots-unknown'],
    ],
  ])('is refused with every problem at once: %s', (target, codes) => {
    expect(refusalOf(ask(target))).toEqual({ status: 400, codes });
  });

  it.each([
    ['/', 404, 'probe-path-unknown'],
    ['/fetch/', 404, 'probe-path-unknown'],
    ['/metrics', 404, 'probe-path-unknown'],
    ['//fetch', 404, 'probe-path-unknown'],
    ['http://other.example/fetch', 404, 'probe-path-unknown'],
    [`/fetch?url=${'a'.repeat(20_000)}`, 414, 'probe-request-too-long'],
  ])('is refused by its path or length: %#', (target, status, code) => {
    expect(refusalOf(ask(target))).toEqual({ status, codes: [code] });
  });

  it.each(['POST', 'HEAD', 'PUT', 'OPTIONS', 'DELETE'])('is refused by its method: %s', (method) => {
    expect(refusalOf(ask(`/fetch?url=${url}&roots=bundle`, { method }))).toEqual({
      status: 405,
      codes: ['probe-method-refused'],
    });
  });
});

describe('the Host of a question', () => {
  it.each<[string, string]>([
    ['127.0.0.1:8080', '127.0.0.1'],
    ['127.0.0.1', '127.0.0.1'],
    ['localhost:8080', '127.0.0.1'],
    ['LOCALHOST', '127.0.0.1'],
    ['[::1]:8080', '::1'],
    ['127.8.8.8', '127.8.8.8'],
    ['10.1.2.3:8080', '10.1.2.3'],
    ['10.1.2.3:8080', '::ffff:10.1.2.3'],
    ['[2001:db8::7]:8080', '2001:db8::7'],
    ['probe.gateway.svc:80', '10.1.2.3'],
    ['Probe.Gateway.svc', '10.1.2.3'],
  ])('may be %s at %s', (host, localAddress) => {
    expect(ask('/livez', { host, localAddress })).toEqual({ kind: 'live' });
  });

  it.each<[string, string]>([
    ['rebound.example', '127.0.0.1'],
    ['rebound.example:8080', '127.0.0.1'],
    ['localhost.rebound.example', '127.0.0.1'],
    ['127.0.0.1.rebound.example', '127.0.0.1'],
    ['10.9.9.9', '10.1.2.3'],
    ['', '127.0.0.1'],
    ['127.1', '127.0.0.1'],
  ])('may not be "%s", or a page could reach the probe by a name of its own', (host, localAddress) => {
    expect(refusalOf(ask('/livez', { host, localAddress }))).toEqual({ status: 403, codes: ['probe-host-refused'] });
  });

  it('does not help a page that asks by the address itself', () => {
    expect(refusalOf(ask(`/fetch?url=${url}&roots=bundle`, { isFromPage: true }))).toEqual({
      status: 403,
      codes: ['probe-browser-refused'],
    });
  });
});
