// `npm run manifests`: writes deploy/install.yaml anew. A test holds the file equal to its sources.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { installFile, joinManifests } from './join-manifests.mjs';
import { root } from './prepare.mjs';

writeFileSync(join(root, installFile), joinManifests(root));
process.stdout.write(`${installFile} is written\n`);
