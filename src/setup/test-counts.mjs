// Adds up what vitest's JSON reports say, and writes the closing line. Knows no file but the one it is given.
import { readFileSync } from 'node:fs';

/** counts of one run; a report that is missing, or an exit code that no test explains, is one failure */
export function readCounts(reportPath, exitCode) {
  const report = readReport(reportPath);
  if (report === undefined) return { passed: 0, failed: 1, skipped: 0, skippedTests: [] };
  const tests = report.testResults.flatMap((file) => file.assertionResults);
  const brokenFiles = report.testResults.filter(
    (file) => file.status === 'failed' && file.assertionResults.length === 0,
  );
  const passed = tests.filter((test) => test.status === 'passed').length;
  const skippedTests = tests.filter((test) => test.status !== 'passed' && test.status !== 'failed');
  const failed = tests.length - passed - skippedTests.length + brokenFiles.length;
  return {
    passed,
    failed: failed === 0 && exitCode !== 0 ? 1 : failed,
    skipped: skippedTests.length,
    skippedTests: skippedTests.map((test) => test.fullName),
  };
}

export function addCounts(all) {
  const sum = (key) => all.reduce((total, counts) => total + counts[key], 0);
  return {
    passed: sum('passed'),
    failed: sum('failed'),
    skipped: sum('skipped'),
    skippedTests: all.flatMap((counts) => counts.skippedTests),
  };
}

export function closingLine({ passed, failed, skipped }) {
  return `${passed} passed, ${failed} failed, ${skipped} skipped`;
}

/** a run without any test is no success, and under `areSkipsForbidden` neither is a skip */
export function isSuccess({ passed, failed, skipped }, areSkipsForbidden) {
  return passed > 0 && failed === 0 && !(areSkipsForbidden && skipped > 0);
}

function readReport(path) {
  try {
    const report = JSON.parse(readFileSync(path, 'utf8'));
    return Array.isArray(report.testResults) ? report : undefined;
  } catch {
    return undefined;
  }
}
