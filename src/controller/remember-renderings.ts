// The last rendering of each gateway, given again while what it is made of is the same: a round over a gateway comes with every
// change around it, and to write Envoy's YAML takes a tenth of a second. Must not know what is rendered.
import type { RenderedGateway, RenderInput } from './render-gateway.ts';
import { shareAll, type ShareText } from './share-texts.ts';

export type Render = (input: RenderInput) => RenderedGateway;

/** beyond that many gateways, those that were looked at longest ago are rendered again */
const mostGateways = 256;

type Remembered = Pick<RenderInput, 'originRootsPem' | 'clientRootsPem'> & {
  readonly spec: string;
  readonly rendered: RenderedGateway;
};

export function rememberRenderings(render: Render, share: ShareText): Render {
  const known = new Map<string, Remembered>();
  return (input) => {
    const { originRootsPem, clientRootsPem, gateway } = input;
    const spec = identityOf(input);
    const last = known.get(gateway.uid);
    known.delete(gateway.uid);
    const isSame =
      last?.spec === spec && last.originRootsPem === originRootsPem && last.clientRootsPem === clientRootsPem;
    const next = isSame ? last : { spec, originRootsPem: share(originRootsPem), clientRootsPem, rendered: anew(input) };
    known.set(gateway.uid, next);
    const [oldest] = known.keys();
    if (known.size > mostGateways && oldest !== undefined) known.delete(oldest);
    return next.rendered;
  };

  function anew(input: RenderInput): RenderedGateway {
    const rendered = render(input);
    return { ...rendered, data: shareAll(rendered.data, share) };
  }
}

/** The API server counts changes of a spec; what may be left out of it while it is not good is said beside that. */
function identityOf({ gateway, remote }: RenderInput): string {
  const { uid, generation, namespace, name, spec } = gateway;
  const mounted = spec.origins.clientCertificates.map(({ secretName }) => secretName);
  return JSON.stringify([uid, generation, namespace, name, spec.clients.caBundle, mounted, remote]);
}
