// `npm test [-- FILTER…]`: every suite, from a fresh clone. Brings what it can as a user, never touches the system; what
// the machine lacks is skipped with its reason, or fails under LEAFGATE_TEST_FORBID_SKIPS=1. The last line counts.
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { prepare, root, say } from './prepare.mjs';
import { runChild } from './run-child.mjs';
import { addCounts, closingLine, isSuccess, readCounts } from './test-counts.mjs';

const node = prepare();
const filters = process.argv.slice(2);
const reports = mkdtempSync(join(tmpdir(), 'leafgate-test-'));

// the slowest first: a control plane of Kubernetes is built, once, beside all suites that need none
const hasCluster = isClusterWanted();
const controlPlane = hasCluster ? install('--cluster') : undefined;
// the other peers are built while the unit tests, which need none, run
say("bringing the tests' peers into the user's cache (some minutes, once)");
const peers = install();
const all = [await runProject('unit')];
await peers;
all.push(await runProject('integration'));
await controlPlane;
if (hasCluster) all.push(await runProject('cluster'));
rmSync(reports, { recursive: true, force: true });

const counts = addCounts(all);
for (const name of counts.skippedTests) process.stdout.write(`skipped: ${name}\n`);
process.stdout.write(`${closingLine(counts)}\n`);
process.exitCode = isSuccess(counts, process.env.LEAFGATE_TEST_FORBID_SKIPS === '1') ? 0 : 1;

async function install(...args) {
  const script = join(root, 'test', 'support', 'install-tools.mjs');
  if (existsSync(script)) await runChild(node, [script, ...args], { cwd: root });
}

/** vitest takes a filter as a part of a path; nobody waits for a control plane that no chosen test needs */
function isClusterWanted() {
  const folder = join('test', 'cluster');
  if (!existsSync(join(root, folder))) return false;
  if (filters.length === 0) return true;
  const files = readdirSync(join(root, folder), { recursive: true }).map((name) => join(root, folder, name));
  return files.some((file) => filters.some((filter) => file.includes(filter)));
}

async function runProject(project) {
  const report = join(reports, `${project}.json`);
  const args = ['run', '--config', join('.config', 'vitest.config.ts'), '--project', project, '--passWithNoTests'];
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');
  const exitCode = await runChild(node, [vitest, ...args, ...reporters, ...filters], { cwd: root });
  return readCounts(report, exitCode);
}
