// A rendering is given again only while all that it is made of is the same, and what many hold alike is held once.
import { expect, test } from 'vitest';
import { rememberRenderings } from '../../../src/controller/remember-renderings.ts';
import { renderGateway, type RenderInput } from '../../../src/controller/render-gateway.ts';
import { createTextSharing, sharingTexts } from '../../../src/controller/share-texts.ts';
import type { KubeObject, WatchEvent } from '../../../src/kube/kube-types.ts';
import { parseEgressGateway } from '../../../src/settings/egress-gateway.ts';
import { gatewayObject, wholeGatewaySpec } from '../../support/egress-gateway-object.ts';

const keep = (text: string): string => text;

function inputOf(metadata: object = {}, more: Partial<RenderInput> = {}): RenderInput {
  const reading = parseEgressGateway(gatewayObject({ ...wholeGatewaySpec, sds: undefined }, { metadata }));
  if (reading.kind !== 'read') throw new Error(reading.problems.map(({ message }) => message).join());
  return { gateway: reading.gateway, originRootsPem: 'roots', clientRootsPem: 'clients', ...more };
}

function counted() {
  let count = 0;
  const render = rememberRenderings((input) => {
    count += 1;
    return renderGateway(input);
  }, keep);
  return { render, count: () => count };
}

test('what is the same is rendered once, and is what would be rendered anew', () => {
  const { render, count } = counted();
  for (const input of [inputOf(), inputOf(), inputOf()]) expect(render(input)).toEqual(renderGateway(input));
  expect(count()).toBe(1);
});

const base = inputOf();
test.each<[string, RenderInput]>([
  ['another generation', inputOf({ generation: 2 })],
  ['another object of the same name', inputOf({ uid: '5a3c1f6e-0000-4000-8000-000000000002' })],
  ['other roots', inputOf({}, { originRootsPem: 'others' })],
  ['other roots of clients', inputOf({}, { clientRootsPem: undefined })],
  [
    'a Secret that is left out',
    {
      ...base,
      gateway: {
        ...base.gateway,
        spec: { ...base.gateway.spec, origins: { caBundle: undefined, clientCertificates: [] } },
      },
    },
  ],
  [
    'clients that are not asked',
    { ...base, gateway: { ...base.gateway, spec: { ...base.gateway.spec, clients: { caBundle: undefined } } } },
  ],
])('%s is rendered anew', (_, other) => {
  const { render, count } = counted();
  render(base);
  expect(render(other)).toEqual(renderGateway(other));
  expect(count()).toBe(2);
});

const long = 'x'.repeat(20_000);
const object = (kind: string, data: object): KubeObject => ({ apiVersion: 'v1', kind, metadata: { name: 'a' }, data });

test('only ConfigMaps are looked into, listed or watched, and nothing in them is changed', async () => {
  const seen: string[] = [];
  const share = (text: string): string => {
    seen.push(text);
    return text;
  };
  const objects = [object('ConfigMap', { a: long, b: 'short' }), object('Secret', { key: 'secret' })];
  const client = sharingTexts(
    {
      list: async () => ({ items: objects, resourceVersion: '1' }),
      watch: async (_, { onEvent }) => objects.forEach((one) => onEvent({ kind: 'put', object: one })),
    },
    share,
  );
  const resource = { group: '', version: 'v1', plural: 'configmaps', kind: 'ConfigMap', isNamespaced: true };
  expect((await client.list({ resource })).items).toEqual(objects);
  const events: WatchEvent[] = [];
  const terms = { resourceVersion: '1', timeoutSeconds: 1, signal: new AbortController().signal };
  await client.watch({ resource }, { ...terms, silenceMs: 1 as never, onEvent: (event) => events.push(event) });
  expect(events.map((event) => event.kind === 'put' && event.object)).toEqual(objects);
  expect(seen).toEqual([long, 'short', long, 'short']);
});

test('texts come out as they went in, however many there are', () => {
  const share = createTextSharing();
  const texts = Array.from({ length: 100 }, (_, index) => `${index} ${long}`);
  for (const text of [...texts, ...texts, 'short']) expect(share(text)).toBe(text);
});
