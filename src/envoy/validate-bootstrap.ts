// Lets an Envoy validate a configuration of somebody's own. Nothing is started and no port is opened. Must not know what
// the configuration says.
import { execFile, type ExecFileException } from 'node:child_process';
import { explainStartFailure, parseEnvoyLogLine } from './envoy-log-line.ts';

export type Validation =
  | { readonly kind: 'passed' }
  | { readonly kind: 'refused'; readonly detail: string }
  /** `how`: the signal, or that it did not end */
  | { readonly kind: 'crashed'; readonly how: string };

/** 0.5 s measured; a busy machine may take many */
const timeoutMs = 60_000;
/** 128 + SIGSEGV, where a shell stands between */
const segfaultExitCode = 139;

const logFormat = '{"level":"%l","logger":"%n","message":"%j"}';

/** `file` must end in .yaml or .json: Envoy takes anything else for protobuf. Relative paths in it are those of this process. */
export function validateBootstrap(binary: string, file: string): Promise<Validation> {
  const args = ['--mode', 'validate', '-c', file, '--log-level', 'warning', '--log-format', logFormat];
  const env = { PATH: '/usr/local/bin:/usr/bin:/bin' };
  return new Promise((resolve) => {
    execFile(
      binary,
      [...args, '--component-log-level', 'misc:error'],
      { env, timeout: timeoutMs, killSignal: 'SIGKILL', maxBuffer: 16 * 1024 * 1024 },
      (error, stdout, stderr) =>
        resolve(error === null ? { kind: 'passed' } : judge(error, `${stderr}\n${stdout}`, file)),
    );
  });
}

function judge(error: ExecFileException, output: string, file: string): Validation {
  if (error.killed === true) return { kind: 'crashed', how: `no end in ${timeoutMs / 1000} s` };
  if (typeof error.signal === 'string') return { kind: 'crashed', how: error.signal };
  if (error.code === segfaultExitCode) return { kind: 'crashed', how: 'SIGSEGV' };
  const lines = output
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map(parseEnvoyLogLine);
  const failure = explainStartFailure(lines, { file, how: `exit code ${String(error.code)}` });
  const detail = String(failure.fields['detail'] ?? failure.message);
  return { kind: 'refused', detail: detail.replace(/^error initializing configuration '[^']*': /, '') };
}
