// The platform that this process runs on. The one place that reads Node's own report of it.
import { isRecord } from '../is-record.ts';
import type { Platform } from './envoy-wheel.ts';

export function machinePlatform(): Platform {
  return { os: process.platform, cpu: process.arch, glibc: process.platform === 'linux' ? glibcVersion() : undefined };
}

/** Node's report names the C library it runs with; it has no such field on musl. */
function glibcVersion(): string | undefined {
  const report: unknown = process.report.getReport();
  if (!isRecord(report) || !isRecord(report['header'])) return undefined;
  const version = report['header']['glibcVersionRuntime'];
  return typeof version === 'string' ? version : undefined;
}
