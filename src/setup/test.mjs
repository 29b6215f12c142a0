// `npm test [-- FILTER…]`: every suite, from a fresh clone. Brings what it can as a user, never touches the system; what
// the machine lacks is skipped with its reason, or fails under LEAFGATE_TEST_FORBID_SKIPS=1. The last line counts.
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { prepare, root, say } from './prepare.mjs';
import { runChild } from './run-child.mjs';
import { addCounts, closingLine, isSuccess, readCounts } from './test-counts.mjs';

const node = prepare();
const filters = process.argv.slice(2);
const reports = mkdtempSync(join(tmpdir(), 'leafgate-test-'));

// the peers are built while the unit tests, which need none, run
const tools = installTools();
const unit = await runProject('unit');
await tools;
const integration = await runProject('integration');
rmSync(reports, { recursive: true, force: true });

const counts = addCounts([unit, integration]);
for (const name of counts.skippedTests) process.stdout.write(`skipped: ${name}\n`);
process.stdout.write(`${closingLine(counts)}\n`);
process.exitCode = isSuccess(counts, process.env.LEAFGATE_TEST_FORBID_SKIPS === '1') ? 0 : 1;

async function installTools() {
  const script = join(root, 'test', 'support', 'install-tools.mjs');
  if (!existsSync(script)) return;
  say("bringing the tests' peers into the user's cache (some minutes, once)");
  await runChild(node, [script], { cwd: root });
}

async function runProject(project) {
  const report = join(reports, `${project}.json`);
  const args = ['run', '--config', join('.config', 'vitest.config.ts'), '--project', project, '--passWithNoTests'];
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');
  const exitCode = await runChild(node, [vitest, ...args, ...reporters, ...filters], { cwd: root });
  return readCounts(report, exitCode);
}
