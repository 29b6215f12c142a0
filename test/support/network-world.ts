// Three machines on one: a client, a gateway between, and an origin, each in a network namespace of its own, joined by
// virtual links, without any privilege but a user namespace. What a machine does not allow is said, not tried again.
import { spawnSync } from 'node:child_process';
import {
  runCommand,
  startProcess,
  type CommandOptions,
  type CommandResult,
  type StartedProcess,
} from './run-command.ts';
import { scrubbedEnvironment } from './scrubbed-environment.ts';

type Place = 'client' | 'gateway' | 'origin';

export const addresses = {
  client: ['10.77.0.2', 'fd77::2'],
  /** of a network that nobody has allowed */
  stranger: '10.78.0.2',
  gateway: ['10.77.0.1', 'fd77::1'],
  /** as public as addresses for documentation can be: none is among those that the gateway guards */
  origin: ['198.51.100.10', '2001:db8:5::10'],
  /** the origin too */
  otherOrigin: '198.51.100.77',
} as const;

/** where packets of the client come in */
export const clientLink = 'gw0';

export type NetworkWorld = {
  /** the words that run a command at a place */
  at(place: Place): readonly string[];
  run(place: Place, command: readonly string[], options?: Partial<CommandOptions>): Promise<CommandResult>;
  stop(): Promise<void>;
};

const environment = scrubbedEnvironment('/');

/** Why this machine has no such namespaces; undefined where it has. */
export function whyNoNetworkWorld(): string | undefined {
  const script = 'ip link set lo up && nft list ruleset && unshare --net true';
  const tried = spawnSync('unshare', ['--user', '--map-root-user', '--net', 'sh', '-ec', script], { env: environment });
  if (tried.error !== undefined) return `network namespaces: ${tried.error.message}`;
  return tried.status === 0 ? undefined : `network namespaces: ${tried.stderr.toString().trim().slice(0, 200)}`;
}

/** prints the ids of the three processes that hold the namespaces, and lives until its group is ended */
const build = `
unshare --net sleep 3600 & client=$!
unshare --net sleep 3600 & origin=$!
until [ "$(readlink /proc/$client/ns/net)" != "$(readlink /proc/$$/ns/net)" ]; do sleep 0.05; done
until [ "$(readlink /proc/$origin/ns/net)" != "$(readlink /proc/$$/ns/net)" ]; do sleep 0.05; done
ip link set lo up
ip link add gw0 type veth peer name cl0 netns $client
ip link add gw1 type veth peer name or0 netns $origin
ip address add 10.77.0.1/24 dev gw0
ip address add fd77::1/64 dev gw0 nodad
ip address add 198.51.100.1/24 dev gw1
ip address add 2001:db8:5::1/64 dev gw1 nodad
ip link set gw0 up
ip link set gw1 up
ip route add 10.78.0.2/32 dev gw0
in_client() { nsenter --target $client --net "$@"; }
in_origin() { nsenter --target $origin --net "$@"; }
in_client ip link set lo up
in_client ip address add 10.77.0.2/24 dev cl0
in_client ip address add 10.78.0.2/32 dev cl0
in_client ip address add fd77::2/64 dev cl0 nodad
in_client ip link set cl0 up
in_client ip route add default via 10.77.0.1
in_client ip route add default via fd77::1
in_origin ip link set lo up
in_origin ip address add 198.51.100.10/24 dev or0
in_origin ip address add 198.51.100.77/24 dev or0
in_origin ip address add 2001:db8:5::10/64 dev or0 nodad
in_origin ip link set or0 up
echo "ready gateway=$$ client=$client origin=$origin"
sleep 3600
`;

export async function startNetworkWorld(): Promise<NetworkWorld> {
  const keeper: StartedProcess = startProcess('unshare', ['--user', '--map-root-user', '--net', 'sh', '-ec', build], {
    env: environment,
  });
  const [, gateway = '', client = '', origin = ''] = await keeper.waitForOutput(
    /ready gateway=(\d+) client=(\d+) origin=(\d+)/,
  );
  const processes = { gateway, client, origin };
  const at = (place: Place): readonly string[] => [
    'nsenter',
    ...['--target', processes[place], '--user', '--net', '--preserve-credentials'],
  ];
  return {
    at,
    run: (place, command, options = {}) => {
      const [program = '', ...args] = [...at(place), ...command];
      return runCommand(program, args, { env: environment, ...options });
    },
    stop: async () => {
      await keeper.stop();
    },
  };
}
