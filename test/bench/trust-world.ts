// What the section about trust delivery runs: an API server with a bundle, `leafgate project` beside it, and the least that
// does the same, in the process of the bench: a watch, a new file, synced and renamed, for each actor, without a check.
import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { open, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { days, epoch } from '../../src/clock.ts';
import { createCa } from '../../src/x509/create-ca.ts';
import { encodeCertificatesPem } from '../../src/x509/pem.ts';
import { startControlPlane, type ControlPlane } from '../support/cluster/control-plane.ts';
import { apiAs, mustSucceed, type RawApi } from '../support/cluster/raw-api.ts';
import { watchAs, type RawWatch } from '../support/cluster/raw-watch.ts';
import { createNamespace, createServiceAccount, type AccountAccess } from '../support/cluster/service-account.ts';
import { startProcess, type StartedProcess } from '../support/run-command.ts';
import { scrubbedEnvironment } from '../support/scrubbed-environment.ts';
import { createTempFolder, type TempFolder } from '../support/temp-folder.ts';

export type TrustWorld = {
  readonly plane: ControlPlane;
  readonly admin: RawApi;
  readonly account: AccountAccess;
  readonly folder: TempFolder;
  stop(): Promise<void>;
};

const apiVersion = 'certificates.k8s.io/v1';
const bundlesPath = `/apis/${apiVersion}/clustertrustbundles`;
const signerName = 'bench.example/mitm';
const bundleName = 'bench.example:mitm:pool';
const mainFile = join(import.meta.dirname, '..', '..', 'dist', 'main.js');
/** as `npm run leafgate` has it */
const nodeFlags = ['--max-semi-space-size=4'];
/** as many as the agent writes at once */
const writesAtOnce = 16;

/** as an actor wants them: for variables that add, and for those that replace */
export const wantedFiles = { ca: 'ca.pem', merged: 'ca-and-system.pem' } as const;

export async function startTrustWorld(): Promise<TrustWorld> {
  const plane = await startControlPlane();
  const admin = apiAs(plane, plane.user('admin'));
  const namespace = await createNamespace(plane, { prefix: 'bench' });
  const rule = { apiGroups: ['certificates.k8s.io'], resources: ['clustertrustbundles'], verbs: ['list', 'watch'] };
  const account = await createServiceAccount(plane, { namespace, name: 'project' }, { cluster: [rule] });
  const folder = createTempFolder();
  return {
    ...{ plane, admin, account, folder },
    stop: async () => {
      admin.close();
      await plane.stop();
      folder.remove();
    },
  };
}

export function makeAnchor(): string {
  const terms = { now: epoch(Date.now()), lifetimeMs: days(300), randomBytes, organisation: 'bench' };
  return encodeCertificatesPem([createCa(terms).certificate]);
}

export async function publish({ admin }: TrustWorld, trustBundle: string): Promise<void> {
  const spec = { signerName, trustBundle };
  const object = { apiVersion, kind: 'ClusterTrustBundle', metadata: { name: bundleName }, spec };
  mustSucceed(await admin.apply(`${bundlesPath}/${bundleName}`, object));
}

export function actorNames(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `actor-${index}`);
}

/** Folders of its own each time: none finds what an earlier one wrote. */
export function startProject(
  { plane, folder, account }: TrustWorld,
  actors: readonly string[],
): { readonly process: StartedProcess; readonly out: string } {
  const id = randomBytes(4).toString('hex');
  const [bundles, volumes, out] = [`bundles-${id}.yaml`, `actors-${id}`, `out-${id}`].map((name) => folder.file(name));
  if (bundles === undefined || volumes === undefined || out === undefined) throw new Error('a path was lost');
  const mitm = { clusterTrustBundle: { signerName, matchLabels: {} } };
  writeFileSync(bundles, JSON.stringify({ bundles: { mitm, roots: { systemRoots: {} } } }));
  mkdirSync(volumes);
  const dataSources = [
    { trustBundle: { name: 'mitm', path: wantedFiles.ca } },
    { trustBundle: { names: ['mitm', 'roots'], path: wantedFiles.merged } },
  ];
  for (const actor of actors) writeFileSync(join(volumes, `${actor}.yaml`), JSON.stringify({ dataSources }));
  const args = ['--actors', volumes, '--bundles', bundles, '--dir', out, '--kubeconfig', account.kubeconfigFile];
  const env = scrubbedEnvironment(plane.dir);
  return { process: startProcess(process.execPath, [...nodeFlags, mainFile, 'project', ...args], { env }), out };
}

/** does nothing, with the same flags: what a Node process weighs */
export function startBareNode({ plane }: TrustWorld): StartedProcess {
  const script = 'setInterval(() => undefined, 60_000); console.log("idle")';
  return startProcess(process.execPath, [...nodeFlags, '--eval', script], { env: scrubbedEnvironment(plane.dir) });
}

export type LeastProjector = { readonly out: string; close(): void };

/** `roots` stands behind the bundle in the merged file, as it is. */
export async function startLeast(
  { plane, folder }: TrustWorld,
  actors: readonly string[],
  roots: string,
): Promise<LeastProjector> {
  const out = folder.file(`least-${randomBytes(4).toString('hex')}`);
  mkdirSync(out);
  for (const actor of actors) mkdirSync(join(out, actor));
  let last: Promise<void> = Promise.resolve();
  const path = `${bundlesPath}?fieldSelector=${encodeURIComponent(`spec.signerName=${signerName}`)}`;
  const watch: RawWatch = watchAs(plane, plane.user('admin'), path, ({ object }) => {
    const text = String(object['spec']?.trustBundle);
    last = last.then(() => writeAll(out, actors, { ca: text, merged: text + roots }));
  });
  await watch.opened;
  return { out, close: () => watch.close() };
}

type Texts = { readonly [file in keyof typeof wantedFiles]: string };

async function writeAll(out: string, actors: readonly string[], { ca, merged }: Texts): Promise<void> {
  const waiting = actors.values();
  const takeTurns = async (): Promise<void> => {
    for (const actor of waiting) {
      await replace(join(out, actor, wantedFiles.ca), ca);
      await replace(join(out, actor, wantedFiles.merged), merged);
    }
  };
  await Promise.all(Array.from({ length: writesAtOnce }, takeTurns));
}

async function replace(path: string, text: string): Promise<void> {
  const file = await open(`${path}.new`, 'w');
  await file.writeFile(text);
  await file.sync();
  await file.close();
  await rename(`${path}.new`, path);
}

const lookEveryMs = 1;
const deadlineMs = 120_000;

/** When each actor had `part` in its file, which is looked at about once: the milliseconds since `from`. */
export async function untilAll(
  out: string,
  actors: readonly string[],
  { file, part, from }: { readonly file: string; readonly part: string; readonly from: number },
): Promise<number> {
  for (const actor of actors) {
    while (!textOf(join(out, actor, file)).includes(part)) {
      if (performance.now() - from > deadlineMs) throw new Error(`${actor} did not get its file`);
      await new Promise((resolve) => setTimeout(resolve, lookEveryMs));
    }
  }
  return performance.now() - from;
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
