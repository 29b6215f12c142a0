// The shipped YAML of deploy/, read as Kubernetes reads it (YAML 1.1: a mode of 0440 is octal), as objects for tests to judge.
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import type { Kinds, Manifest } from './manifest-types.ts';

export const deployFolder = new URL('../../deploy/', import.meta.url).pathname;

export type ShippedFolder = 'controller' | 'bounds' | 'gateway' | 'sds';

export function shippedManifests(...folders: readonly ShippedFolder[]): readonly Manifest[] {
  return folders.flatMap((folder) =>
    resourcesOf(folder).flatMap((name) => readManifests(join(deployFolder, folder, name))),
  );
}

/** the only one of its kind in the folder */
export function shippedManifest<Kind extends keyof Kinds>(folder: ShippedFolder, kind: Kind): Kinds[Kind] {
  return onlyOne(ofKind(shippedManifests(folder), kind), `${kind} in ${folder}`);
}

export function ofKind<Kind extends keyof Kinds>(manifests: readonly Manifest[], kind: Kind): readonly Kinds[Kind][] {
  return manifests.filter((one): one is Kinds[Kind] => one.kind === kind);
}

export function onlyOne<Item>(items: readonly Item[], what: string): Item {
  const [first] = items;
  if (first === undefined || items.length > 1) throw new Error(`${items.length} of ${what} in place of one`);
  return first;
}

export function readManifests(path: string): readonly Manifest[] {
  return parseManifests(readFileSync(path, 'utf8'));
}

export function parseManifests(text: string): readonly Manifest[] {
  return parseAllDocuments(text, { version: '1.1' }).flatMap((document): Manifest[] => {
    const [error] = [...document.errors, ...document.warnings];
    if (error !== undefined) throw error;
    const value = document.toJS() as Manifest | null;
    return value === null ? [] : [value];
  });
}

/** every YAML file of the folder but its kustomization, which must list them all */
export function yamlFilesOf(folder: ShippedFolder): readonly string[] {
  const names = readdirSync(join(deployFolder, folder)).filter((name) => name.endsWith('.yaml'));
  return names.filter((name) => name !== 'kustomization.yaml').sort();
}

export function resourcesOf(folder: ShippedFolder): readonly string[] {
  const kustomization = onlyOne(readManifests(join(deployFolder, folder, 'kustomization.yaml')), folder);
  return kustomization['resources'] as readonly string[];
}
