// docs/clients.md: the matrix of clients as people read it, with the versions that it was last shown with. Pure.
import { allClients } from './all-clients.ts';
import { browserClients } from './browser-clients.ts';

export type ShownClients = {
  /** `2026-01-31` */
  readonly date: string;
  /** the system's own name for itself */
  readonly system: string;
  readonly versionOf: (name: string) => string;
};

const introduction = `# Clients behind the gateway

Each of these is started from an empty environment (\`PATH\` and an empty \`HOME\`) and fetches from an origin that only the gateway can find by its name and verify. [environment.md](environment.md) has all variables that \`leafgate run\` sets.
`;

const reachedWords = `## Reached

With everything that \`leafgate run\` sets, and with nothing but the variables of this table, each gets what the origin alone knows, by a leaf of the gateway's. Without the trust it refuses that leaf; without the proxy it goes around the gateway. Package managers bring a package, module, crate or clone from a registry that the origin serves.
`;

const unreachedWords = `## Reached by no variable

Shown with everything that \`leafgate run\` sets: they still go around the gateway, or refuse its leaf.
`;

const rerun = `## To show it again

\`npm run clients\` starts them all and writes this page, when every row held. \`.ci/run\` holds the same rows. What a machine lacks comes from \`sh test/support/install-system.sh\` (as root, Debian 12) and \`node test/support/install-tools.mjs\`.
`;

export function clientsPage({ date, system, versionOf }: ShownClients): string {
  const cell = (name: string): string => `${name} | ${versionOf(name)}`;
  const code = (names: readonly string[]): string => names.map((name) => `\`${name}\``).join(', ');
  const reached = allClients.flatMap(({ name, reach }) =>
    reach.kind === 'variables' ? [`| ${cell(name)} | ${code(reach.proxy)} | ${code(reach.trust)} |`] : [],
  );
  const browsers = browserClients.map(({ name, proxy, store }) => `| ${cell(name)} | ${code(proxy)} | ${store} |`);
  const unreached = allClients.flatMap(({ name, reach }) =>
    reach.kind === 'unreached' ? [`| ${cell(name)} | the ${reach.lacks} | ${reach.remedy} |`] : [],
  );
  return [
    introduction,
    `Last shown on ${date}, on ${system}.\n`,
    reachedWords,
    ['| client | version | proxy by | trust by |', '|---|---|---|---|', ...reached, ...browsers, ''].join('\n'),
    unreachedWords,
    ['| client | version | what it lacks | what helps |', '|---|---|---|---|', ...unreached, ''].join('\n'),
    rerun,
  ].join('\n');
}
