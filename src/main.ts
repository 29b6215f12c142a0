#!/usr/bin/env node
// Picks a command and maps its outcome to an exit code. The only file that may end the process. Everything else is
// imported after the check of Node's version, since older ones fail while loading it.

/** Node 24 is the first long-term release that runs the sources as they are (docs/decisions/0002). */
const oldestNode = 24;
/** `exitCodes.environment`; errors.ts is not loaded yet */
const environmentExitCode = 3;

process.on('unhandledRejection', (reason) => {
  const text = reason instanceof Error ? (reason.stack ?? reason.message) : String(reason);
  process.stderr.write(`leafgate: an unhandled failure: ${text}\n`);
  process.exit(1);
});

process.exit(await main());

async function main(): Promise<number> {
  if (Number.parseInt(process.versions.node, 10) < oldestNode) {
    process.stderr.write(
      `leafgate: this is Node ${process.versions.node}, and Node ${oldestNode} or newer is needed; in the repository, \`npm start\` brings it\n`,
    );
    return environmentExitCode;
  }
  const [{ runCommandLine }, { standardIo }, { systemClock }] = await Promise.all([
    import('./cli/command-line.ts'),
    import('./cli/standard-io.ts'),
    import('./clock.ts'),
  ]);
  const io = standardIo(process, systemClock);
  const exitCode = await runCommandLine(process.argv.slice(2), io);
  // with output that nobody takes, exit handlers would wait for its reader for ever
  if (!(await io.flush())) process.kill(process.pid, 'SIGKILL');
  return exitCode;
}
