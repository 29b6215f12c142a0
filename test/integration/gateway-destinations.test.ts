// The destination guard on every leg, with every form of address that leads to what clients must not reach: traps listen on
// all of them and count. In a network namespace they are the private addresses themselves, where the machine allows one;
// with aliases of loopback in any case. The same clients reach the traps once the guard is opened.
import { beforeAll, describe, expect, test } from 'vitest';
import { describeWithTools } from '../support/describe-with-tools.ts';
import { type Leg, type WorldConfiguration, type WorldReport } from '../support/destination-world.ts';
import { inNetworkNamespace, whyNoNamespaces } from '../support/network-namespace.ts';
import { runCommand, type CommandResult } from '../support/run-command.ts';
import { scrubbedEnvironment } from '../support/scrubbed-environment.ts';
import { createTempFolder } from '../support/temp-folder.ts';

type Place = {
  readonly title: string;
  readonly inNamespace: boolean;
  /** addresses that the guard leaves alone, IPv4 first */
  readonly open: readonly string[];
  readonly allowDestinations: readonly string[];
  readonly exception: string;
  readonly besideException: string;
  /** refused, and what hears the connection when they are not; nothing where none can be made */
  readonly guarded: { readonly [address: string]: string | undefined };
  /** beside one of `open`, in two-address answers */
  readonly trap: string;
  /** nobody listens there */
  readonly dead: string;
};

const namespace: Place = {
  title: 'in a network namespace',
  inNamespace: true,
  open: ['203.0.113.10', '2001:db8::10'],
  allowDestinations: ['10.9.9.9', 'fd00:9::/64'],
  exception: '10.9.9.9',
  besideException: '10.9.9.8',
  guarded: {
    '10.0.0.1': '10.0.0.1',
    '100.64.0.1': '100.64.0.1',
    '127.0.0.1': '127.0.0.1',
    '127.1.2.3': '127.1.2.3',
    '169.254.169.254': '169.254.169.254',
    '172.16.0.1': '172.16.0.1',
    '192.0.0.1': '192.0.0.1',
    '192.168.0.1': '192.168.0.1',
    '198.18.0.1': '198.18.0.1',
    '240.0.0.1': '240.0.0.1',
    '168.63.129.16': '168.63.129.16',
    '0.0.0.0': '127.0.0.1',
    '224.0.0.1': undefined,
    '255.255.255.255': undefined,
    '::': '::1',
    '::1': '::1',
    'fd00::1': 'fd00::1',
    'fe80::1': undefined,
    'fec0::1': 'fec0::1',
    'ff02::1': undefined,
    // forms that carry an IPv4 address: mapped, compatible, NAT64, local NAT64, SIIT, 6to4, Teredo
    '::ffff:10.0.0.1': undefined,
    '::10.0.0.1': '::a00:1',
    '64:ff9b::10.0.0.1': '64:ff9b::a00:1',
    '64:ff9b:1::1': '64:ff9b:1::1',
    '::ffff:0:10.0.0.1': '::ffff:0:a00:1',
    '2002:a00:1::1': '2002:a00:1::1',
    '2001::1': '2001::1',
  },
  trap: '10.0.0.1',
  dead: '203.0.113.99',
};

const aliases: Place = {
  title: 'with aliases of loopback',
  inNamespace: false,
  open: ['127.1.0.10'],
  allowDestinations: ['127.1.0.0/16', '127.9.9.9', '127.255.255.255'],
  exception: '127.9.9.9',
  besideException: '127.9.9.8',
  guarded: {
    '127.66.0.1': '127.66.0.1',
    '127.0.0.1': '127.0.0.1',
    '0.0.0.0': '127.0.0.1',
    '::': '::1',
    '::1': '::1',
    '::ffff:127.66.0.1': undefined,
  },
  trap: '127.66.0.1',
  // a broadcast address
  dead: '127.255.255.255',
};

const world = new URL('../support/destination-world.ts', import.meta.url).pathname;
const home = createTempFolder().path;
const whyNoNamespace = await whyNoNamespaces(home);
const places = whyNoNamespace === undefined ? [namespace, aliases] : [aliases];
const suffix = whyNoNamespace === undefined ? '' : ` (no network namespace here: ${whyNoNamespace})`;

/** a label for an address, as its name in DNS */
const nameOf = (address: string): string => `a-${address.replace(/[^0-9a-f]/g, '-')}-z.test`;
const literalOf = (address: string): string => (address.includes(':') ? `[${address}]` : address);

function configurationOf(place: Place, envoy: string): WorldConfiguration {
  const single = [...place.open, place.exception, place.besideException, ...Object.keys(place.guarded)];
  const [open = ''] = place.open;
  return {
    envoy,
    allowDestinations: place.allowDestinations,
    hosts: {
      ...Object.fromEntries(single.map((address) => [nameOf(address), [address]])),
      ...Object.fromEntries(single.map((address) => [literalOf(address), null])),
      'mixed.test': [open, place.trap],
      'mixed-turned.test': [place.trap, open],
      'mixed-families.test': [open, '::1', 'fd00::1'],
      'dead-first.test': [place.dead, place.trap],
    },
    rebinding: { 'rebind.test': [[open], [place.trap]], 'rebind-turned.test': [[place.trap], [open]] },
  };
}

function run(place: Place, command: readonly string[]): Promise<CommandResult> {
  const deadlineMs = 110_000;
  if (!place.inNamespace) {
    const [program = '', ...args] = command;
    return runCommand(program, args, { env: scrubbedEnvironment(home), deadlineMs });
  }
  const all = [...place.open, place.exception, place.besideException, ...Object.values(place.guarded)];
  const own = all.filter((address) => address !== undefined).filter((address) => !/^127\.|^::1$/.test(address));
  const addresses = [...new Set(own)].map((address) => `${address}/${address.includes(':') ? 128 : 32}`);
  return inNetworkNamespace({ addresses }, command, { home, deadlineMs });
}

async function report(place: Place, configuration: WorldConfiguration): Promise<WorldReport> {
  const { stdout, stderr } = await run(place, [process.execPath, world, JSON.stringify(configuration)]);
  if (stdout === '') throw new Error(stderr);
  return JSON.parse(stdout) as WorldReport;
}

describeWithTools(`the destination guard${suffix}`, ['envoy-1.40.0'], ({ 'envoy-1.40.0': envoy }) => {
  const reports = new Map<Place, { guarded: WorldReport; opened: WorldReport }>();

  beforeAll(async () => {
    await Promise.all(
      places.map(async (place) => {
        const configuration = configurationOf(place, envoy);
        const guarded = await report(place, configuration);
        const everywhere = { ...configuration, allowDestinations: ['0.0.0.0/0', '::/0'], rebinding: {} };
        reports.set(place, { guarded, opened: await report(place, everywhere) });
      }),
    );
  }, 240_000);

  describe.each(places)('$title', (place) => {
    const reportsOf = () => {
      const found = reports.get(place);
      if (found === undefined) throw new Error('no report');
      return found;
    };
    const told = (host: string): { readonly [leg in Leg]: string } => {
      const found = reportsOf().guarded.told[host];
      if (found === undefined) throw new Error(`nobody asked for ${host}`);
      return found;
    };
    const reachedInClear = { absolute: '200', clear: '200', 'client-first': 'trap', 'server-first': 'trap' };
    // the trap speaks no TLS
    const reached = { ...reachedInClear, intercept: '502 origin_failed' };

    test('lets through, on every leg, what is open or excepted, by name and by literal', () => {
      for (const address of [...place.open, place.exception]) {
        expect({ address, ...told(nameOf(address)) }).toMatchObject({ address, ...reached });
        expect({ address, ...told(literalOf(address)) }).toMatchObject({ address, ...reachedInClear });
        for (const host of [nameOf(address), literalOf(address)]) {
          expect(told(host).relay).toMatch(/WRONG_VERSION|EPROTO/);
        }
      }
    });

    test('refuses names that lead to a guarded address, on every leg, and says so where the protocol lets it', () => {
      for (const address of [...Object.keys(place.guarded), place.besideException]) {
        const { relay, ...rest } = told(nameOf(address));
        const denied = '403 destination_denied';
        expect({ address, ...rest }).toEqual({
          ...{ address, absolute: denied, clear: denied, intercept: denied },
          ...{ 'client-first': 'closed', 'server-first': 'closed' },
        });
        expect(relay).toMatch(/^(?:closed|ECONNRESET)$/);
      }
    });

    test('refuses literals at once, at their CONNECT', () => {
      for (const address of [...Object.keys(place.guarded), place.besideException]) {
        const { absolute, ...tunnels } = told(literalOf(address));
        expect([address, absolute]).toEqual([address, '403 destination_denied']);
        for (const [leg, answer] of Object.entries(tunnels))
          expect([address, leg, answer]).toEqual([address, leg, '403']);
      }
    });

    test.each(['mixed.test', 'mixed-turned.test', 'mixed-families.test'])('uses the open address of %s', (host) => {
      expect(told(host)).toMatchObject(reached);
    });

    test('does not fall back to a guarded address when the open one is dead', () => {
      const { absolute, clear, intercept, ...tcp } = told('dead-first.test');
      expect([absolute, clear, intercept]).toEqual(Array(3).fill('502 origin_failed'));
      expect([tcp['client-first'], tcp['server-first']]).toEqual(['closed', 'closed']);
    });

    test('keeps the open address of a name that is bound anew for each question', () => {
      const { rebinding } = reportsOf().guarded;
      const refused = { absolute: '403 destination_denied', 'client-first': 'closed' };
      for (const host of ['rebind.test', 'rebind-turned.test']) {
        for (const leg of ['absolute', 'client-first'] as const) {
          const answers = rebinding[host]?.[leg] ?? [];
          // refused until there is an open address, and never again after that
          expect([host, leg, ...answers.slice(-1)]).toEqual([host, leg, reached[leg]]);
          expect([host, leg, ...answers.slice(0, -1)]).toEqual([
            host,
            leg,
            ...(answers.length > 1 ? [refused[leg]] : []),
          ]);
        }
      }
    });

    test('makes no connection to a guarded address, and only the guard keeps the same clients from it', () => {
      const { guarded, opened } = reportsOf();
      expect(Object.keys(guarded.heard).toSorted()).toEqual([...place.open, place.exception].toSorted());
      const open = new Set(Object.keys(opened.heard));
      const dialable = Object.values(place.guarded).filter((address) => address !== undefined);
      expect([...dialable, place.besideException].filter((address) => !open.has(address))).toEqual([]);
    });
  });
});
