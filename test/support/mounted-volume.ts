// A folder as a kubelet mounts a ConfigMap or a Secret, and changes it: the files are links through `..data`, which one rename
// points to a new folder, so that all of them change at once.
import { mkdirSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export type MountedVolume = {
  readonly dir: string;
  /** what the volume holds from now on, and nothing else */
  update(files: { readonly [name: string]: string | Uint8Array }): void;
};

const dataLink = '..data';

export function mountedVolume(dir: string): MountedVolume {
  mkdirSync(dir, { recursive: true });
  let generation = 0;
  return {
    dir,
    update: (files) => {
      const before = generation;
      generation += 1;
      const folder = `..${generation}`;
      mkdirSync(join(dir, folder));
      for (const [name, content] of Object.entries(files))
        writeFileSync(join(dir, folder, name), content, { mode: 0o644 });
      symlinkSync(folder, join(dir, `${dataLink}_tmp`));
      renameSync(join(dir, `${dataLink}_tmp`), join(dir, dataLink));
      const shown = new Set(readdirSync(dir).filter((name) => !name.startsWith('..')));
      for (const name of Object.keys(files))
        if (!shown.delete(name)) symlinkSync(join(dataLink, name), join(dir, name));
      for (const name of shown) rmSync(join(dir, name));
      rmSync(join(dir, `..${before}`), { recursive: true, force: true });
    },
  };
}
