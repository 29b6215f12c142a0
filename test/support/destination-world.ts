// `node test/support/destination-world.ts CONFIGURATION`: a gateway, a DNS server and traps on every address of a machine or
// of a network namespace, and clients that try to reach each address by each leg. Prints what the clients were told and what
// the traps heard, as JSON. A program of its own, so that it can run in a namespace; it judges nothing.
import { createServer, type AddressInfo } from 'node:net';
import { pathToFileURL } from 'node:url';
import { parseIpAddress } from '../../src/names/ip-address.ts';
import { policy, rule } from '../unit/policy/policy-fixtures.ts';
import { askHttp1 } from './http-in-tunnel.ts';
import { openTlsInTunnel, openTunnel } from './open-tunnel.ts';
import { connectRequest, plainGet, rawExchange } from './raw-proxy-client.ts';
import type { DnsScript } from './scripted-dns.ts';
import { handshakeInTunnel } from './tunnel-tls.ts';
import { startWholeGateway, type WholeGateway } from './whole-gateway.ts';

export type WorldConfiguration = {
  readonly envoy: string;
  readonly allowDestinations: readonly string[];
  /** every host that is tried by every leg: what DNS says of a name, nothing for a literal */
  readonly hosts: { readonly [host: string]: readonly string[] | null };
  /** answers of names that change from question to question, with a TTL of 0, tried again and again */
  readonly rebinding: { readonly [host: string]: readonly (readonly string[])[] };
};

const legs = ['absolute', 'clear', 'intercept', 'relay', 'client-first', 'server-first'] as const;
export type Leg = (typeof legs)[number];

export type WorldReport = {
  /** by host and leg, in a few words */
  readonly told: { readonly [host: string]: { readonly [leg in Leg]: string } };
  /** for each rebinding host, what its clients were told, in order and without repetition, by leg */
  readonly rebinding: { readonly [host: string]: { readonly [leg: string]: readonly string[] } };
  /** connections to the traps, by the address that was dialled */
  readonly heard: { readonly [address: string]: number };
};

const banner = 'trap';

type Traps = {
  /** the rule for a port chooses the leg */
  readonly ports: { readonly read: number; readonly relay: number; readonly tcp: number };
  readonly heard: Record<string, number>;
  close(): void;
};

/** Traps speak first and answer HTTP, so that each leg shows whether it got through. */
async function setTraps(): Promise<Traps> {
  const heard: Record<string, number> = {};
  const servers = ['read', 'relay', 'tcp'].map(() =>
    createServer((socket) => {
      const address = canonical(socket.localAddress ?? '');
      heard[address] = (heard[address] ?? 0) + 1;
      socket.on('error', () => undefined);
      const speaksFirst = (servers[2]?.address() as AddressInfo).port === socket.localPort;
      if (speaksFirst) socket.write(banner);
      else socket.once('data', () => socket.end(`HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n${banner}`));
    }),
  );
  const ports = await Promise.all(
    servers.map(
      (server) =>
        new Promise<number>((resolve) => {
          // every address of both families, also those of IPv4 in their mapped form
          server.listen(0, '::', () => resolve((server.address() as AddressInfo).port));
        }),
    ),
  );
  const [read = 0, relay = 0, tcp = 0] = ports;
  return { ports: { read, relay, tcp }, heard, close: () => servers.forEach((server) => server.close()) };
}

/** as RFC 5952 has it; an IPv4 address that an IPv6 socket heard, as IPv4 */
function canonical(address: string): string {
  return parseIpAddress(address.replace(/^::ffff:(?=\d+\.)/, ''))?.text ?? address;
}

async function startGateway(configuration: WorldConfiguration, { ports }: Traps): Promise<WholeGateway> {
  const { envoy, allowDestinations, hosts, rebinding } = configuration;
  const fixed = Object.entries(hosts).flatMap(([host, answer]) => (answer === null ? [] : [[host, answer] as const]));
  const changing = Object.entries(rebinding).map(([host, answers]): readonly [string, DnsScript] => {
    return [host, (nth) => answers[nth % answers.length] ?? []];
  });
  const anywhere = ['*.test', '0.0.0.0/0', '::/0'];
  const rules = anywhere.flatMap((target, index) => [
    rule(target, 'relay', { name: `relay-${index}`, ports: [ports.relay] }),
    rule(target, 'tcp', { name: `tcp-${index}`, ports: [ports.tcp] }),
  ]);
  return startWholeGateway({
    ...{ envoy, allowDestinations, ttlSeconds: 0 },
    names: Object.fromEntries([...fixed, ...changing]),
    spec: { policy: policy('intercept', ...rules) },
  });
}

type Attempt = { readonly gateway: WholeGateway; readonly ports: Traps['ports']; readonly host: string };

/** A refusal of the CONNECT itself is an answer too. */
async function attempt(leg: Leg, { gateway, ports, host }: Attempt): Promise<string> {
  const proxyPort = gateway.port;
  const clear = `${host}:${ports.read}`;
  try {
    switch (leg) {
      case 'absolute':
        return toldByHttp(await plainGet(proxyPort, `http://${clear}/`));
      case 'clear': {
        const tunnel = await openTunnel({ proxyPort, authority: clear });
        return toldByHttp(await askHttp1(tunnel, { authority: clear, path: '/' }));
      }
      case 'intercept': {
        const options = { proxyPort, authority: clear, ca: gateway.caPem, alpn: ['http/1.1'] };
        return toldByHttp(await askHttp1(await openTlsInTunnel(options), { authority: clear, path: '/' }));
      }
      case 'relay': {
        const serverName = host.endsWith('.test') ? host : undefined;
        const shaken = await handshakeInTunnel({ proxyPort, authority: `${host}:${ports.relay}`, serverName });
        // a trap has no TLS: what it says instead breaks the handshake in other words than a closed connection
        return shaken.kind === 'failed' ? shaken.code : 'a handshake';
      }
      default: {
        const send = connectRequest(`${host}:${ports.tcp}`);
        const then = leg === 'client-first' ? { then: 'hello' } : {};
        const { text, status } = await rawExchange({ port: proxyPort, send, ...then, until: banner });
        if (status !== 200) return text.slice(9, 12);
        return text.includes(banner) ? banner : 'closed';
      }
    }
  } catch (error) {
    return String(error).replace(/^.*?HTTP\/1\.1 (\d{3})[^]*$/, '$1');
  }
}

function toldByHttp(answer: {
  readonly status: number;
  readonly headers: { readonly [name: string]: unknown };
}): string {
  const word = answer.headers['x-leafgate-error'];
  return typeof word === 'string' ? `${answer.status} ${word}` : String(answer.status);
}

/** a resolver that is told a TTL of 0 asks again after the gateway's own five seconds */
const rebindingDeadlineMs = 30_000;
/** of both types, for two legs: each leg has an entry of its own in the DNS cache, by host and port */
const enoughQuestions = 16;

async function rebind(leg: 'absolute' | 'client-first', tried: Attempt): Promise<readonly string[]> {
  const told: string[] = [];
  const end = performance.now() + rebindingDeadlineMs;
  const isReached = (answer: string | undefined): boolean => answer === '200' || answer === banner;
  while (performance.now() < end) {
    if (isReached(told.at(-1)) && tried.gateway.dns.asked(tried.host) >= enoughQuestions) break;
    const next = await attempt(leg, tried);
    if (told.at(-1) !== next) told.push(next);
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
  return told;
}

async function runWorld(configuration: WorldConfiguration): Promise<WorldReport> {
  const traps = await setTraps();
  const gateway = await startGateway(configuration, traps);
  const tried = (host: string): Attempt => ({ gateway, ports: traps.ports, host });
  try {
    const [told, rebinding] = await Promise.all([
      inTurn(Object.keys(configuration.hosts), async (host) => {
        const answers = await Promise.all(legs.map(async (leg) => [leg, await attempt(leg, tried(host))] as const));
        return Object.fromEntries(answers) as WorldReport['told'][string];
      }),
      inTurn(Object.keys(configuration.rebinding), async (host) => {
        const both = ['absolute', 'client-first'] as const;
        const [absolute = [], tcp = []] = await Promise.all(both.map((leg) => rebind(leg, tried(host))));
        return { absolute, 'client-first': tcp };
      }),
    ]);
    return { told, rebinding, heard: traps.heard };
  } finally {
    await gateway.stop();
    traps.close();
  }
}

/** a few at a time: the machine has few cores */
async function inTurn<Value>(
  keys: readonly string[],
  work: (key: string) => Promise<Value>,
): Promise<{ readonly [key: string]: Value }> {
  const results: [string, Value][] = [];
  const left = [...keys];
  const worker = async (): Promise<void> => {
    for (let key = left.shift(); key !== undefined; key = left.shift()) results.push([key, await work(key)]);
  };
  await Promise.all([worker(), worker(), worker(), worker()]);
  return Object.fromEntries(results);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const report = await runWorld(JSON.parse(process.argv[2] ?? '') as WorldConfiguration);
  console.log(JSON.stringify(report));
  // Envoy and servers are down; what Node still keeps open is no matter
  process.exitCode = 0;
}
