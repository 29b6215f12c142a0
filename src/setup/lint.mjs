// `npm run lint`: every check of the house rules, all of them run even when one fails, so that all findings show at once.
import { spawnSync } from 'node:child_process';
import { lintChecks } from './lint-checks.mjs';

let failed = 0;
for (const [label, command, args] of lintChecks) {
  const started = Date.now();
  const { status } = spawnSync(command, args, { stdio: 'inherit', shell: false });
  const outcome = status === 0 ? 'ok' : 'FAILED';
  if (status !== 0) failed += 1;
  process.stdout.write(`lint: ${label}: ${outcome} (${((Date.now() - started) / 1000).toFixed(1)} s)\n`);
}
process.exitCode = failed === 0 ? 0 : 1;
