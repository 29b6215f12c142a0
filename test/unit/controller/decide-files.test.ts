import { describe, expect, test } from 'vitest';
import { decideFiles, type FilesInput } from '../../../src/controller/decide-files.ts';
import { renderGateway, type RenderedGateway } from '../../../src/controller/render-gateway.ts';
import { maxRenderedBytes } from '../../../src/settings/pod-layout.ts';
import { egressGateway, policyOf, tcpEgressGateway, wholeEgressGateway } from '../../support/egress-gateway.ts';

const good: Omit<FilesInput, 'gateway' | 'existing'> = {
  blocking: [],
  originRootsPem: 'roots 1\n',
  clientRootsPem: 'clients 1\n',
  goodOriginSecrets: new Set(['partner', 'other']),
};
const absent: FilesInput['existing'] = { kind: 'absent' };
const whole = wholeEgressGateway();

function found({ data }: RenderedGateway): FilesInput['existing'] {
  return { kind: 'found', value: { data } };
}

/** what is there once all was good */
function last(gateway = whole): FilesInput['existing'] {
  return found(renderGateway({ gateway, originRootsPem: 'roots 1\n', clientRootsPem: 'clients 1\n' }));
}

/** the files that a decision leaves in force, and what is held */
function filesOf(input: FilesInput) {
  const decision = decideFiles(input);
  if (decision.kind !== 'apply' && decision.kind !== 'keep') throw new Error(`it decided ${decision.kind}`);
  return { kind: decision.kind, held: decision.held, data: decision.rendered.data };
}

describe('the first rendering', () => {
  test('waits for every condition that blocks, and names them', () => {
    const blocking = ['CAPoolReady', 'ServingTLSSecretReady'];
    expect(decideFiles({ ...good, gateway: whole, existing: absent, blocking })).toEqual({ kind: 'wait', blocking });
  });

  test('comes when nothing blocks', () => {
    expect(filesOf({ ...good, gateway: whole, existing: absent })).toMatchObject({ kind: 'apply', held: [] });
  });

  test('never comes without roots for origins', () => {
    const input = { ...good, gateway: whole, existing: absent, originRootsPem: undefined };
    expect(decideFiles(input)).toMatchObject({ kind: 'wait' });
  });
});

describe('a channel over TCP', () => {
  const remote = { serverName: 'gateway-sds.egress.svc.cluster.local', anchorsPem: 'anchors 1\n' };
  const tcp = tcpEgressGateway();
  const rendered = found(renderGateway({ gateway: tcp, originRootsPem: 'r', clientRootsPem: undefined, remote }));
  const blocking = ['TLSConfigured'];

  test('comes into files that exist once its Secrets are good, and not before', () => {
    const input = { ...good, remote, gateway: tcp, existing: last(egressGateway()) };
    expect(decideFiles({ ...input, blocking })).toEqual({ kind: 'wait', blocking });
    expect(filesOf(input).data).toMatchObject({ 'anchors.pem': 'anchors 1\n' });
  });

  test('stays while its Secrets or the pool are bad, and holds no policy back', () => {
    const gateway = { ...tcp, spec: { ...tcp.spec, ...policyOf('default: intercept\n') } };
    const bad = { blocking, remote: { ...remote, anchorsPem: undefined } };
    const files = filesOf({ ...good, ...bad, gateway, existing: rendered });
    expect(files).toMatchObject({ kind: 'apply', held: ['anchors'], data: { 'anchors.pem': 'anchors 1\n' } });
    expect(files.data['policy.yaml']).toBe(gateway.spec.policyText);
  });

  test('leaves the files as they are where its Secret is no longer named', () => {
    const unnamed = tcpEgressGateway({ secretName: undefined });
    expect(decideFiles({ ...good, remote, gateway: unnamed, existing: rendered })).toMatchObject({ kind: 'wait' });
  });

  test('becomes plaintext at once where that is chosen, and TLS again only once its Secrets are good', () => {
    const inClear = tcpEgressGateway({ enabled: false, secretName: undefined });
    const files = filesOf({ ...good, remote, gateway: inClear, existing: rendered });
    expect(files.data['sds-server.json']).toContain('plaintext');
    const existing = { kind: 'found', value: { data: files.data } } as const;
    expect(decideFiles({ ...good, remote, gateway: tcp, existing, blocking })).toEqual({ kind: 'wait', blocking });
    const again = filesOf({ ...good, remote, gateway: tcp, existing });
    expect(again.data['sds-server.json']).not.toContain('plaintext');
    const first = decideFiles({ ...good, remote, gateway: inClear, existing: absent });
    expect(first).toMatchObject({ kind: 'apply' });
  });

  test('is taken back by the unix socket at once', () => {
    const files = filesOf({ ...good, gateway: egressGateway(), existing: rendered });
    expect(Object.keys(files.data)).not.toContain('sds-server.json');
  });
});

describe('files that exist', () => {
  test('stay as they are when nothing changed', () => {
    expect(filesOf({ ...good, gateway: whole, existing: last() })).toMatchObject({ kind: 'keep', held: [] });
  });

  test('take a new policy, whatever blocks a first rendering now', () => {
    const policy = policyOf('default: intercept\n');
    const gateway = { ...whole, spec: { ...whole.spec, ...policy } };
    const files = filesOf({ ...good, gateway, existing: last(), blocking: ['CAPoolReady', 'ServingTLSSecretReady'] });
    expect(files).toMatchObject({ kind: 'apply', held: [] });
    expect(files.data['policy.yaml']).toBe(policy.policyText);
  });

  test('keep the last good roots while the new ones are bad, and take the rest', () => {
    const policy = policyOf('default: intercept\n');
    const gateway = { ...whole, spec: { ...whole.spec, ...policy } };
    const bad = { originRootsPem: undefined, clientRootsPem: undefined };
    const files = filesOf({ ...good, ...bad, gateway, existing: last() });
    expect(files.held).toEqual(['origin-roots', 'client-roots']);
    expect(files.data).toMatchObject({
      'origin-roots.pem': 'roots 1\n',
      'client-roots.pem': 'clients 1\n',
      'policy.yaml': policy.policyText,
    });
  });

  test('take good roots again', () => {
    const files = filesOf({ ...good, originRootsPem: 'roots 2\n', gateway: whole, existing: last() });
    expect(files).toMatchObject({ kind: 'apply', held: [], data: { 'origin-roots.pem': 'roots 2\n' } });
  });

  test('keep a certificate for origins that pods mount, also when it is no good now', () => {
    const files = filesOf({ ...good, goodOriginSecrets: new Set(['other']), gateway: whole, existing: last() });
    expect(files).toMatchObject({ kind: 'keep', held: ['origin-certificates'] });
  });

  test('do not mount one that is not good yet', () => {
    const files = filesOf({
      ...good,
      goodOriginSecrets: new Set(['other']),
      gateway: whole,
      existing: last(egressGateway()),
    });
    expect(files.held).toEqual(['origin-certificates']);
    expect(Object.keys(files.data)).toContain('credential-other.json');
    expect(Object.keys(files.data)).not.toContain('credential-partner.json');
  });

  test('ask clients for no certificates while nothing is there to verify them with', () => {
    const without = { ...whole, spec: { ...whole.spec, clients: { caBundle: undefined } } };
    const files = filesOf({ ...good, clientRootsPem: undefined, gateway: whole, existing: last(without) });
    expect(files).toMatchObject({ kind: 'keep', held: ['client-roots'] });
  });

  test('that nobody can read are left alone', () => {
    const existing = { kind: 'unavailable', detail: 'forbidden' } as const;
    expect(decideFiles({ ...good, gateway: whole, existing })).toEqual(existing);
  });

  test('that another version wrote are rendered anew', () => {
    const value = { data: { 'sidecar.yaml': 'other: 1\n', more: '' } };
    expect(filesOf({ ...good, gateway: whole, existing: { kind: 'found', value } })).toMatchObject({ kind: 'apply' });
  });
});

test('a rendering of exactly 900 KiB is taken, and one byte more is refused with its size', () => {
  const { bytes } = renderGateway({ gateway: whole, originRootsPem: '', clientRootsPem: 'clients 1\n' });
  const room = maxRenderedBytes - bytes;
  const sized = (size: number) => ({ ...good, gateway: whole, existing: last(), originRootsPem: 'x'.repeat(size) });
  expect(decideFiles(sized(room))).toMatchObject({ kind: 'apply', rendered: { bytes: maxRenderedBytes } });
  expect(decideFiles(sized(room + 1))).toEqual({
    kind: 'too-large',
    bytes: maxRenderedBytes + 1,
    maxBytes: maxRenderedBytes,
  });
});
