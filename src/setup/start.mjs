// `npm start [-- OPTIONS]` and `npm run leafgate -- ARGUMENTS`: from a fresh clone to a running command. Installs the locked
// packages when they are not there, then runs `leafgate ARGUMENTS` under the Node 24 that came with them, in the caller's
// folder and environment, as if npm were not there.
import { join } from 'node:path';
import { callerPlace } from './caller-place.mjs';
import { prepare, root } from './prepare.mjs';
import { runChild } from './run-child.mjs';

const node = prepare();
// a small young generation halves what a live name costs, and CPU does not notice (measured); docs/envoy.md says it to others
const nodeFlags = ['--max-semi-space-size=4'];

const { folder, env } = callerPlace(process.env, root, process.cwd());

const args = [...nodeFlags, join(root, 'src', 'main.ts'), ...process.argv.slice(2)];
process.exitCode = await runChild(node, args, { cwd: folder, env });
