// The protocol suite as a function of a server, so that the same checks run against the product and against servers
// that are broken on purpose (facts: reliability H1). A check is a promise with the report or pitfall it comes from.
import type { SdsSettings } from '../../src/sds/sds-settings.ts';
import { askChecks } from './ask-checks.ts';
import { changeChecks } from './change-checks.ts';
import { createSdsWorld } from './sds-world.ts';
import type { MakeServer, SdsWorld } from './sds-world.ts';

export type ProtocolCheck = {
  readonly name: string;
  readonly settings?: Partial<SdsSettings>;
  readonly run: (world: SdsWorld) => Promise<void>;
};

export type CheckResult = { readonly name: string; readonly failure: string | undefined };

export const protocolChecks: readonly ProtocolCheck[] = [...askChecks, ...changeChecks];

/** Runs every check against a server of its own; `failure` says what was expected, undefined: kept. */
export async function sdsProtocolChecks(makeServer: MakeServer): Promise<readonly CheckResult[]> {
  const results: CheckResult[] = [];
  for (const check of protocolChecks) results.push({ name: check.name, failure: await failureOf(check, makeServer) });
  return results;
}

export async function failureOf(check: ProtocolCheck, makeServer: MakeServer): Promise<string | undefined> {
  try {
    await check.run(createSdsWorld(makeServer, check.settings));
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
