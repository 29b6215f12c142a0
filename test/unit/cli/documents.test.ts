// The tables of the documentation are made from the tables of the code: `npm run docs` writes them anew.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { errorTable, errorsMarkdown } from '../../../src/cli/error-table.ts';
import { settingsMarkdown } from '../../../src/cli/settings-markdown.ts';
import { conditionTable, type ReasonSpec } from '../../../src/controller/condition-table.ts';
import { conditionsMarkdown } from '../../../src/controller/conditions-markdown.ts';
import { bootstrapProblemSpecs } from '../../../src/doctor/bootstrap-checks.ts';
import { doctorProblems } from '../../../src/doctor/doctor-checks.ts';
import { doctorMarkdown } from '../../../src/doctor/doctor-markdown.ts';
import { metricsTable } from '../../../src/observe/metrics-table.ts';
import { metricsMarkdown } from '../../../src/observe/metrics-markdown.ts';
import { recordsMarkdown } from '../../../src/observe/records-markdown.ts';
import { environmentMarkdown } from '../../../src/projection/environment-markdown.ts';
import { definitionMarkdown } from '../../support/definition-markdown.ts';

const sourceFolder = new URL('../../../src', import.meta.url).pathname;

describe('documents made from tables', () => {
  test.each([
    ['docs/errors.md', errorsMarkdown],
    ['docs/conditions.md', conditionsMarkdown],
    ['docs/doctor.md', doctorMarkdown],
    ['docs/settings.md', settingsMarkdown],
    ['docs/metrics.md', metricsMarkdown],
    ['docs/records.md', recordsMarkdown],
    ['docs/environment.md', environmentMarkdown],
    ['docs/egress-gateway-fields.md', definitionMarkdown],
  ])('%s says what the code says', async (path, render) => {
    await expect(render()).toMatchFileSnapshot(`../../../${path}`);
  });
});

describe('the vocabulary of errors', () => {
  test('has each code once', () => {
    const codes = errorTable.map(({ code }) => code);
    expect(codes.filter((code, index) => codes.indexOf(code) !== index)).toEqual([]);
  });

  test('has kebab-case codes', () => {
    expect(errorTable.filter(({ code }) => !/^[a-z0-9]+(-[a-z0-9]+)*$/.test(code))).toEqual([]);
  });

  test('has sentences that start lower case, with a field or with a proper name, and have no full stop', () => {
    const startsRight = /^(?:[a-z{"-]|[A-Z]{2}|[A-Z]\w*[A-Z]|(?:Envoy|Python)\b)/;
    const wrong = errorTable.filter(
      ({ spec }) => !startsRight.test(spec.message) || /\.$/.test(spec.message + spec.remedy),
    );
    expect(wrong.map(({ code, spec }) => `${code}: ${spec.message}; ${spec.remedy}`)).toEqual([]);
  });

  test('says what to do for every error', () => {
    expect(errorTable.filter(({ spec }) => spec.remedy.trim() === '')).toEqual([]);
  });
});

describe('the table of problems that doctor can find', () => {
  test('has kebab-case ids, and sentences without a full stop that say what to do', () => {
    const wrong = Object.entries({ ...doctorProblems, ...bootstrapProblemSpecs }).filter(([id, { what, remedy }]) => {
      return (
        !/^[a-z0-9]+(-[a-z0-9]+)*$/.test(id) || /\.$/.test(what + remedy) || remedy === '' || /^[A-Z][a-z]/.test(remedy)
      );
    });
    expect(wrong).toEqual([]);
  });
});

describe('the table of conditions', () => {
  test('says for every reason that is not True what to do, in sentences without a full stop', () => {
    const specs = Object.entries(conditionTable).flatMap(([type, { reasons }]) =>
      Object.entries<ReasonSpec>(reasons).map(([reason, spec]) => ({ name: `${type} ${reason}`, ...spec })),
    );
    const wrong = specs.filter(({ status, when, remedy }) => {
      return (status === 'False' && remedy === '') || when === '' || /\.$/.test(when + remedy);
    });
    expect(wrong).toEqual([]);
  });
});

describe('the table of metrics', () => {
  test('holds only metrics that something sets', () => {
    const sources = readdirSync(sourceFolder, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts') && !name.endsWith('metrics-table.ts'))
      .map((name) => readFileSync(join(sourceFolder, name), 'utf8'))
      .join('\n');
    expect(Object.keys(metricsTable).filter((name) => !sources.includes(`'${name}'`))).toEqual([]);
  });
});
