// The addresses that a gateway listens on, found free before Envoy starts, and whether Envoy shows its clients the
// certificate that it should.
import { frontCertificateSecret } from '../bootstrap/proxy-front.ts';
import type { Clock } from '../clock.ts';
import type { AdminClient } from '../envoy/admin-client.ts';
import { probeListen } from '../envoy/check-listen.ts';
import { waitForSecret } from '../envoy/reload-certificates.ts';
import { LeafgateError } from '../errors.ts';
import { parseIpAddress } from '../names/ip-address.ts';
import type { GatewaySpec, TransparentListener } from '../settings/gateway-spec.ts';
import { cliErrors } from './cli-errors.ts';
import type { OpenedMaterial } from './gateway-material.ts';
import type { GatewayOptions } from './gateway-options.ts';
import type { BoundListeners } from './gateway-spec-for.ts';
import { proxyUrlOf } from './launch-envoy.ts';
import type { FrontFacts } from './up-output.ts';

/** Rejects as `probeListen` does, with the address that is taken. */
export async function bindListeners({ listen, front, transparentPort }: GatewayOptions): Promise<BoundListeners> {
  return {
    listen: await probeListen(listen),
    front: front?.listen === undefined ? undefined : await probeListen(front.listen),
    transparent: transparentPort === undefined ? undefined : await bindEverywhere(transparentPort),
  };
}

/** IPv6 is left out where this machine has none; a port that is in use is never. */
async function bindEverywhere(port: number): Promise<TransparentListener> {
  const [everyIpv4, everyIpv6] = ['0.0.0.0', '::'].map(parseIpAddress);
  if (everyIpv4 === undefined || everyIpv6 === undefined) return { addresses: [], port };
  await probeListen({ address: everyIpv4, port });
  const hasIpv6 = await probeListen({ address: everyIpv6, port }).then(
    () => true,
    (thrown: unknown) => {
      if (LeafgateError.from(thrown).code === 'envoy-listen-in-use') throw thrown;
      return false;
    },
  );
  return { addresses: hasIpv6 ? [everyIpv4, everyIpv6] : [everyIpv4], port };
}

/** What `up` says of TLS to the proxy. */
export function frontFacts(
  { front, listen }: GatewaySpec,
  material: readonly OpenedMaterial[],
): FrontFacts | undefined {
  const [certificate] = servingIn(material)?.files.current().certificates ?? [];
  if (front === undefined || certificate === undefined) return undefined;
  return {
    url: proxyUrlOf(front.listen ?? listen, 'https'),
    subject: certificate.subject,
    notAfter: new Date(certificate.notAfter).toISOString(),
    asksForCertificates: front.clientCaFile !== undefined,
  };
}

function servingIn(material: readonly OpenedMaterial[]): OpenedMaterial | undefined {
  return material.find(({ item }) => item.kind === 'front');
}

export type FrontCheck = {
  readonly admin: AdminClient;
  readonly clock: Clock;
  readonly material: readonly OpenedMaterial[];
};

/** Envoy starts without a certificate that it cannot use, and says nothing. @throws front-not-served */
export async function checkFront({ front }: GatewaySpec, { admin, clock, material }: FrontCheck): Promise<void> {
  const serving = servingIn(material);
  if (front === undefined || serving === undefined) return;
  const wanted = { secret: frontCertificateSecret, text: serving.files.current().text };
  if (await waitForSecret({ admin, clock }, wanted)) return;
  throw cliErrors.error('front-not-served', { dir: front.certificateDir });
}
