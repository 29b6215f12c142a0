// `leafgate doctor --bootstrap FILE`: reads the file, asks whoever should answer on its SDS socket and an Envoy that is at
// hand, judges, and prints like the other doctor.
import { extname, join } from 'node:path';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { runChecks } from '../../doctor/check-types.ts';
import { bootstrapChecks, type BootstrapFacts, type ValidationFacts } from '../../doctor/bootstrap-checks.ts';
import { readBootstrapTree, type TreeReading } from '../../doctor/bootstrap-tree.ts';
import { nameOf, sdsClusters, socketOf, viewBootstrap } from '../../doctor/bootstrap-view.ts';
import type { NamedEnvoy } from '../../envoy/find-envoy.ts';
import { validateBootstrap } from '../../envoy/validate-bootstrap.ts';
import { readRegularFile } from '../../read-regular-file.ts';
import { replaceFile } from '../../replace-file.ts';
import { givenTexts, isSwitchedOn, type SettingSource } from '../../settings/read-settings.ts';
import { switchSettings, textSettings } from '../../settings/text-settings.ts';
import { cliErrors } from '../cli-errors.ts';
import type { CommandContext } from '../command-context.ts';
import { gatherEnvoy } from './gather-envoy.ts';
import { whyNotAnswered } from './gather-gateway.ts';
import { printReports } from './print-reports.ts';

/** ten times the largest seen, which listed 10,000 rules */
const maxBootstrapBytes = 64 * 1024 * 1024;

/** @throws bootstrap-file-unreadable */
export async function runBootstrapDoctor(file: string, source: SettingSource, context: CommandContext): Promise<void> {
  const content = await readRegularFile(file, maxBootstrapBytes);
  if (content.kind !== 'bytes') {
    const detail = content.kind === 'unreadable' ? content.reason : `it is larger than ${maxBootstrapBytes} bytes`;
    throw cliErrors.error('bootstrap-file-unreadable', { file, detail });
  }
  const text = Buffer.from(content.bytes).toString('utf8');
  const reading = readBootstrapTree(text);
  const [named] = givenTexts(textSettings.envoy, source)
    .slice(-1)
    .map((given) => ({ path: given.text, setting: given.setting }));
  const facts: BootstrapFacts = {
    reading,
    sdsServers: await askServers(reading),
    validation: await validate({ file, text }, named, context),
  };
  printReports(runChecks(bootstrapChecks, facts), isSwitchedOn(switchSettings.json, source), context);
}

async function askServers(reading: TreeReading): Promise<BootstrapFacts['sdsServers']> {
  if (reading.kind !== 'tree') return [];
  const found = sdsClusters(viewBootstrap(reading.root)).flatMap((cluster) => {
    const path = socketOf(cluster);
    return path === undefined ? [] : [{ cluster: nameOf(cluster), path }];
  });
  return Promise.all(found.map(async (one) => ({ ...one, silentBecause: await whyNotAnswered(one.path) })));
}

type BootstrapFile = { readonly file: string; readonly text: string };

async function validate(
  bootstrap: BootstrapFile,
  named: NamedEnvoy | undefined,
  { io }: CommandContext,
): Promise<ValidationFacts> {
  const { search } = await gatherEnvoy({ named, env: io.env });
  if (search.kind === 'none') return { kind: 'skipped', why: 'there is no Envoy; name one with --envoy' };
  if (search.kind === 'unusable') return { kind: 'skipped', why: `${search.path}: ${search.detail}` };
  const { version, path } = search;
  const validation = await withKnownName(bootstrap, (file) => validateBootstrap(path, file));
  return { ...validation, version };
}

/** Envoy goes by the end of the name */
const knownEnds = new Set(['.yaml', '.yml', '.json']);

async function withKnownName<Value>(
  { file, text }: BootstrapFile,
  use: (file: string) => Promise<Value>,
): Promise<Value> {
  if (knownEnds.has(extname(file))) return use(file);
  const dir = mkdtempSync(join(tmpdir(), 'leafgate-doctor-'));
  try {
    const copy = join(dir, 'bootstrap.yaml');
    await replaceFile(copy, text, 0o600);
    return await use(copy);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
