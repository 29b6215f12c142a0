// The checks of `npm run lint`: a label, a command of the locked packages, its arguments.

/** `dot`: a passing run has nothing to say */
const vitest = ['--config', '.config/vitest.config.ts', '--project', 'unit', '--reporter', 'dot'];

export const lintChecks = [
  ['types', 'tsc', ['-p', 'tsconfig.json']],
  ['types of tests', 'tsc', ['-p', '.config/tsconfig.test.json']],
  ['rules and sizes', 'eslint', ['--config', '.config/eslint.config.js', '--max-warnings', '0', 'src', 'test']],
  [
    'format',
    'prettier',
    ['--config', '.config/prettier.json', '--check', '--log-level', 'warn', 'src', 'test', '!test/golden/**'],
  ],
  ['import direction', 'depcruise', ['--config', '.config/dependency-cruiser.cjs', '--output-type', 'err', 'src']],
  ['dead code', 'knip', ['--config', '.config/knip.json']],
  ['floors of versions', 'vitest', ['run', ...vitest, 'test/unit/setup/version-floors.test.ts']],
];
