// The environment that sends a command through the gateway and makes it trust it, made from the table of runtimes and from
// what the command would inherit: what its owner has there is kept or a warning says that it is not. Pure; must not know
// how a process is started.
import { actorRuntimes, type ActorRuntime, type ActorValue } from './actor-runtimes.ts';
import { canStandIn } from './client-files.ts';
import { javaOptions } from './java-options.ts';
import { sendsAllAround, unproxiedHosts, type InheritedEnvironment } from './no-proxy.ts';
import type { TrustFiles } from './trust-files.ts';

/** `proxyUrl`: `http://127.0.0.1:3128` */
type ActorTrust = Omit<TrustFiles, 'p12File'> & {
  readonly proxyUrl: string;
  /** undefined where nobody wrote it */
  readonly p12File: string | undefined;
};

export type EnvironmentWish = {
  readonly trust: ActorTrust;
  /** what the command would inherit */
  readonly own: InheritedEnvironment;
  /** keys of runtimes that get nothing */
  readonly without: ReadonlySet<string>;
  /** variables that stay as their owner has them */
  readonly left: ReadonlySet<string>;
};

export type ActorEnvironment = {
  /** to be added to what the command inherits */
  readonly variables: Readonly<Record<string, string>>;
  /** sentences for a person */
  readonly warnings: readonly string[];
};

export function actorEnvironment(wish: EnvironmentWish): ActorEnvironment {
  const runtimes = actorRuntimes.filter(({ key }) => !wish.without.has(key));
  const values = valuesFor(wish, runtimes);
  const variables = runtimes.flatMap((runtime) => runtime.variables).filter(({ name }) => !wish.left.has(name));
  return {
    variables: Object.fromEntries(
      variables.flatMap(({ name, value }) => {
        const text = values.texts[value];
        return text === undefined ? [] : [[name, text]];
      }),
    ),
    warnings: [...proxyWarnings(wish, runtimes), ...values.warnings],
  };
}

type Values = {
  readonly texts: Readonly<Record<ActorValue, string | undefined>>;
  readonly warnings: readonly string[];
};

function valuesFor({ trust, own, without, left }: EnvironmentWish, runtimes: readonly ActorRuntime[]): Values {
  const unproxied = unproxiedHosts(own);
  const java = javaOptions({
    own: own['JAVA_TOOL_OPTIONS'] ?? '',
    proxyUrl: without.has('proxy') ? undefined : trust.proxyUrl,
    trustStore: trust.p12File,
    unproxied,
  });
  const isSet = (value: ActorValue): boolean =>
    runtimes.some(({ variables }) => variables.some((each) => each.value === value && !left.has(each.name)));
  const unfit = (['wgetrc', 'apt-conf', 'php-folder'] as const).filter(
    (value) => isSet(value) && !canBeSaid(value, trust),
  );
  const fit = (value: (typeof unfit)[number], path: string): string | undefined =>
    unfit.includes(value) ? undefined : path;
  return {
    texts: {
      proxy: trust.proxyUrl,
      'no-proxy': unproxied.join(','),
      on: '1',
      'java-options': java.text === '' ? undefined : java.text,
      anchors: trust.caFile,
      merged: trust.mergedFile,
      wgetrc: fit('wgetrc', trust.wgetrcFile),
      'apt-conf': fit('apt-conf', trust.aptConfFile),
      'php-folder': fit('php-folder', phpFolders(own['PHP_INI_SCAN_DIR'] ?? '', trust.phpFolder)),
    },
    warnings: [
      ...(isSet('java-options') ? java.warnings : []),
      ...unfit.map((value) => `${unfitClients[value]} cannot be told a path like ${JSON.stringify(trust.mergedFile)}`),
    ],
  };
}

/** ours last, once; an empty entry stands for the folder that PHP was built with */
function phpFolders(own: string, ours: string): string {
  const others = own.split(':').filter((folder) => folder !== ours);
  return [...(others.length === 0 ? [''] : others), ours].join(':');
}

const unfitClients = { wgetrc: 'wget', 'apt-conf': 'apt', 'php-folder': 'PHP' } as const;

function canBeSaid(value: keyof typeof unfitClients, { mergedFile, phpFolder }: ActorTrust): boolean {
  switch (value) {
    case 'wgetrc':
      return canStandIn.wgetrc(mergedFile);
    case 'apt-conf':
      return canStandIn.aptConf(mergedFile);
    case 'php-folder':
      return canStandIn.phpIni(mergedFile) && !phpFolder.includes(':');
    default:
      return value satisfies never;
  }
}

/** some clients read them before those that we set */
const furtherProxies = [
  'ALL_PROXY',
  'all_proxy',
  'npm_config_proxy',
  'npm_config_https_proxy',
  'CARGO_HTTP_PROXY',
  'PIP_PROXY',
];

function proxyWarnings({ trust, own, left }: EnvironmentWish, runtimes: readonly ActorRuntime[]): readonly string[] {
  const set = runtimes
    .flatMap(({ variables }) => variables)
    .filter(({ value, name }) => value === 'proxy' && !left.has(name));
  if (set.length === 0) return [];
  const differs = (name: string): boolean => !['', trust.proxyUrl].includes(own[name] ?? '');
  const replaced = set.map(({ name }) => name).filter(differs);
  const staying = furtherProxies.filter(differs);
  return [
    ...(sendsAllAround(own) ? ['NO_PROXY is *, so that the command goes around the gateway'] : []),
    ...(replaced.length === 0 ? [] : [`the gateway takes the place of the proxy in ${replaced.join(', ')}`]),
    ...staying.map((name) => `${name} stays as it is: what reads it first goes around the gateway`),
  ];
}
