// Facts about the proxy and trust variables of the shell, and about certificate files that were given with flags.
import { readFile } from 'node:fs/promises';
import type { Clock } from '../../clock.ts';
import type { EnvironmentFacts, FoundFault, GivenFileFacts } from '../../doctor/doctor-facts.ts';
import type { Pool } from '../../pool/pool-types.ts';
import { actorVariables, type ActorValue } from '../../projection/actor-runtimes.ts';
import { parseRoots } from '../../projection/system-roots.ts';
import type { OriginCredential } from '../../settings/gateway-spec.ts';
import { systemReason } from '../../system-error.ts';
import type { GatewayOptions } from '../gateway-options.ts';
import { openMaterial } from '../gateway-material.ts';
import { loadPolicy } from '../policy-source.ts';
import { faultsOf } from './gather-state.ts';

type Environment = Readonly<Record<string, string | undefined>>;

const proxyNames = [...namesOf('proxy'), 'ALL_PROXY', 'all_proxy'];
const noProxyNames = namesOf('no-proxy');

export async function gatherEnvironment(
  env: Environment,
  proxyUrl: string | undefined,
  pool: Pool | undefined,
): Promise<EnvironmentFacts> {
  const given = Object.entries(pick(env, [...namesOf('merged'), ...namesOf('anchors')]));
  // most of them name one and the same file, with all the roots of the system in it
  const read = new Map<string, ReadTrust>();
  for (const path of new Set(given.map(([, named]) => named))) read.set(path, await readTrust(path, pool));
  return {
    proxyUrl,
    proxies: pick(env, proxyNames),
    noProxy: pick(env, noProxyNames),
    trust: given.flatMap(([name, path]) => {
      const found = read.get(path);
      return found === undefined ? [] : [{ name, path, ...found }];
    }),
  };
}

function namesOf(wanted: ActorValue): readonly string[] {
  return actorVariables.flatMap(({ name, value }) => (value === wanted ? [name] : []));
}

function pick(env: Environment, names: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = env[name] ?? '';
      return value === '' ? [] : [[name, value]];
    }),
  );
}

type ReadTrust = { readonly unusableBecause: string | undefined; readonly holdsCa: boolean | undefined };

async function readTrust(path: string, pool: Pool | undefined): Promise<ReadTrust> {
  let text: string;
  try {
    text = await readFile(path, 'latin1');
  } catch (error) {
    return { unusableBecause: systemReason(error), holdsCa: undefined };
  }
  const held = new Set(parseRoots(text).certificates.map(({ sha256 }) => sha256));
  return {
    unusableBecause: held.size === 0 ? 'it holds no certificate' : undefined,
    holdsCa: pool?.cas.every(({ anchor }) => held.has(anchor.sha256)),
  };
}

/** The policy names files of certificates too, so that it is read first. */
export async function gatherGivenFiles(
  options: GatewayOptions,
  pool: Pool | undefined,
  clock: Clock,
): Promise<GivenFileFacts> {
  const { policy } = options;
  let origins: readonly OriginCredential[] = [];
  let faults: readonly FoundFault[] = [];
  try {
    ({ origins } = (await loadPolicy(policy)).file);
  } catch (thrown) {
    faults = faultsOf(thrown);
  }
  return {
    certificates: await gatherCertificates(options, origins, { pool, clock }),
    policy: policy.kind === 'file' ? { file: policy.path, faults } : undefined,
  };
}

type MaterialPlace = { readonly pool: Pool | undefined; readonly clock: Clock };

async function gatherCertificates(
  { originCaFiles, front }: GatewayOptions,
  originCredentials: readonly OriginCredential[],
  { pool, clock }: MaterialPlace,
): Promise<GivenFileFacts['certificates']> {
  const frontFiles = front === undefined ? [] : [front.certificateDir, front.clientCaFile ?? ''];
  const originFiles = originCredentials.map(({ certificateFile }) => certificateFile);
  const files = [...originCaFiles, ...frontFiles, ...originFiles].filter((file) => file !== '');
  if (files.length === 0) return undefined;
  try {
    const spec = { front: front === undefined ? undefined : { ...front, listen: undefined }, originCredentials };
    const material = await openMaterial({ spec, originCaFiles, clock, pool: () => pool });
    for (const { files: opened } of material) opened.close();
    return { files, faults: [] };
  } catch (thrown) {
    return { files, faults: faultsOf(thrown) };
  }
}
