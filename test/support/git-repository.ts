// A bare git repository with one commit, and the static files that git's "dumb" HTTP protocol reads from it.
import { createReadStream, statSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join, normalize } from 'node:path';
import { runCommand } from './run-command.ts';
import { scrubbedEnvironment } from './scrubbed-environment.ts';
import type { TempFolder } from './temp-folder.ts';

export async function createGitRepository(git: string, folder: TempFolder, name: string): Promise<void> {
  const identity = ['-c', 'user.name=Test', '-c', 'user.email=test@example.invalid'];
  const work = folder.file('work');
  const steps = [
    ['init', '--quiet', '--initial-branch=main', work],
    ['-C', work, ...identity, 'commit', '--quiet', '--allow-empty', '-m', 'the only commit'],
    ['clone', '--quiet', '--bare', work, folder.file(name)],
    ['-C', folder.file(name), 'update-server-info'],
  ];
  for (const args of steps) {
    const { status, stderr } = await runCommand(git, args, { env: scrubbedEnvironment(folder.path) });
    if (status !== 0) throw new Error(`git ${args.join(' ')}: ${stderr}`);
  }
}

/** Answers from a file below `root`, or says that there is none. */
export function serveFolder(root: string, request: IncomingMessage, response: ServerResponse): boolean {
  const { pathname } = new URL(request.url ?? '/', 'https://any.invalid');
  const file = join(root, normalize(decodeURIComponent(pathname)));
  const isFile = statSync(file, { throwIfNoEntry: false })?.isFile() ?? false;
  if (isFile) createReadStream(file).pipe(response);
  else if (pathname.includes('.git/')) response.writeHead(404).end();
  else return false;
  return true;
}
