// `npm start [-- OPTIONS]`: from a fresh clone to a running gateway. Installs the locked packages when they are not
// there, then runs `leafgate up OPTIONS` under the Node 24 that came with them.
import { join } from 'node:path';
import { prepare, root } from './prepare.mjs';
import { runChild } from './run-child.mjs';

const node = prepare();
process.exitCode = await runChild(node, [join(root, 'src', 'main.ts'), 'up', ...process.argv.slice(2)]);
