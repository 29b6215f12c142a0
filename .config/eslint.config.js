// House rules that a machine can hold (docs/contributing.md): sizes, types, promises, exits. Directions of imports are
// held by dependency-cruiser, dead code by knip.
import tseslint from 'typescript-eslint';

const noDefaultExport = { selector: 'ExportDefaultDeclaration', message: 'named exports only' };
const noRecursiveMkdir = {
  selector: "CallExpression[callee.name=/^mkdir(Sync)?$/] Property[key.name='recursive']",
  message: 'makeFolder() instead: recursive mkdir goes round for ever under /proc',
};

export default tseslint.config(
  { ignores: ['dist/**', 'node_modules/**', '**/*.mjs', '**/*.cjs', '.config/**'] },
  ...tseslint.configs.strictTypeChecked,
  {
    languageOptions: { parserOptions: { project: ['.config/tsconfig.test.json'], tsconfigRootDir: `${import.meta.dirname}/..` } },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      'max-lines': ['error', 300],
      'max-lines-per-function': ['error', { max: 50 }],
      'max-params': ['error', 4],
      'no-console': 'error',
      'no-restricted-syntax': ['error', noDefaultExport],
      'no-restricted-properties': ['error', { object: 'process', property: 'exit', message: 'only src/main.ts may exit the process' }],
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/consistent-type-definitions': 'off',
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true, ignoreVoidOperator: true }],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      '@typescript-eslint/dot-notation': 'off',
      '@typescript-eslint/no-invalid-void-type': 'off',
      '@typescript-eslint/unified-signatures': 'off',
    },
  },
  {
    files: ['test/**/*.ts'],
    rules: {
      'max-lines': ['error', 500],
      'max-lines-per-function': 'off',
      'no-console': 'off',
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/require-await': 'off',
    },
  },
  { files: ['src/**/*.ts'], rules: { 'no-restricted-syntax': ['error', noDefaultExport, noRecursiveMkdir] } },
  { files: ['src/main.ts'], rules: { 'no-restricted-properties': 'off' } },
);
