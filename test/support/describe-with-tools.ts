// Suites that need more than Node: skipped with the reason in their name where the machine lacks something, failed with
// it under LEAFGATE_TEST_FORBID_SKIPS=1 (as CI sets it), so that no skip goes unseen.
import { describe, test } from 'vitest';
import { findTool } from './tools.ts';
import type { ToolName } from './tools.ts';

/** A `describe` whose body gets the paths of the tools that it needs. */
export function describeWithTools<Name extends ToolName>(
  title: string,
  names: readonly Name[],
  body: (paths: { readonly [name in Name]: string }) => void,
): void {
  const paths: { [name: string]: string } = {};
  const missing: string[] = [];
  for (const name of names) {
    const found = findTool(name);
    if (found.path === undefined) missing.push(found.missing);
    else paths[name] = found.path;
  }
  if (missing.length === 0) {
    describe(title, () => body(paths as { [name in Name]: string }));
  } else {
    skipWithReason(title, missing.join('; '));
  }
}

/**
 * The same for a suite that needs what no installation can bring, such as namespaces that a kernel does not give: skipped with
 * the reason everywhere, since nobody could mend it.
 */
export function describeWithMachine<Name extends ToolName>(
  title: string,
  needs: { readonly tools: readonly Name[]; readonly whyNot: () => string | undefined },
  body: (paths: { readonly [name in Name]: string }) => void,
): void {
  describeWithTools(title, needs.tools, (paths) => {
    const reason = needs.whyNot();
    if (reason === undefined) body(paths);
    else test.skip(`skipped: ${reason}`, () => undefined);
  });
}

export function skipWithReason(title: string, reason: string): void {
  describe(title, () => {
    if (process.env['LEAFGATE_TEST_FORBID_SKIPS'] === '1') {
      test(`is not skipped (${reason})`, () => {
        throw new Error(`skips are forbidden here: ${reason}`);
      });
    } else {
      test.skip(`skipped: ${reason}`, () => undefined);
    }
  });
}
