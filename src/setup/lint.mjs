// `npm run lint`: every check of the house rules, all of them run even when one fails, so that all findings show at once.
import { spawnSync } from 'node:child_process';

const checks = [
  ['types', 'tsc', ['-p', 'tsconfig.json']],
  ['types of tests', 'tsc', ['-p', '.config/tsconfig.test.json']],
  ['rules and sizes', 'eslint', ['--config', '.config/eslint.config.js', '--max-warnings', '0', 'src', 'test']],
  ['format', 'prettier', ['--config', '.config/prettier.json', '--check', '--log-level', 'warn', 'src', 'test']],
  ['import direction', 'depcruise', ['--config', '.config/dependency-cruiser.cjs', '--output-type', 'err', 'src']],
  ['dead code', 'knip', ['--config', '.config/knip.json']],
];

let failed = 0;
for (const [label, command, args] of checks) {
  const started = Date.now();
  const { status } = spawnSync(command, args, { stdio: 'inherit', shell: false });
  const outcome = status === 0 ? 'ok' : 'FAILED';
  if (status !== 0) failed += 1;
  process.stdout.write(`lint: ${label}: ${outcome} (${((Date.now() - started) / 1000).toFixed(1)} s)\n`);
}
process.exitCode = failed === 0 ? 0 : 1;
