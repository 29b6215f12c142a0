// The findings of linters and verifiers that docs/leaf-findings.md accepts, with its reasons. The document is the list:
// nothing is accepted that is not written there.
import { readFileSync } from 'node:fs';

export type AcceptedFinding = { readonly tool: string; readonly finding: string; readonly on: string };

const row = /^\| (\S+) +\| `([^`]+)` +\| ([^|]+?) +\| ([^|]{20,}) \|$/;

export function readAcceptedFindings(): readonly AcceptedFinding[] {
  const lines = readFileSync(new URL('../../docs/leaf-findings.md', import.meta.url), 'utf8').split('\n');
  const rows = lines.filter((line) => line.startsWith('| ') && !/^\| (?:tool |-)/.test(line));
  return rows.map((line) => {
    const [, tool, finding, on] = row.exec(line) ?? [];
    if (tool === undefined || finding === undefined || on === undefined) throw new Error(`no finding: ${line}`);
    return { tool, finding, on };
  });
}

/** what one tool may say, and must say, about one sample */
export function acceptedOf(tool: string, title: string): readonly string[] {
  return readAcceptedFindings()
    .filter((accepted) => accepted.tool === tool && (accepted.on === 'every leaf' || accepted.on === title))
    .map(({ finding }) => finding);
}
