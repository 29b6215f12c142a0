// What a kubelet does for the volumes of a pod: brings what the API has into the mounted folders, each as a whole, when asked.
import type { MountedVolume } from '../mounted-volume.ts';
import type { ApiObject, RawApi } from './raw-api.ts';

export type MountedObject = {
  readonly volume: MountedVolume;
  /** of a ConfigMap or a Secret */
  readonly path: string;
  /** keys that are mounted; default: all */
  readonly keys?: readonly string[];
};

/** One round over all of them; an object that is not there changes nothing. */
export function mountObjects(api: RawApi, objects: readonly MountedObject[]): () => Promise<void> {
  const shown = new Map<string, string>();
  return async () => {
    for (const { volume, path, keys } of objects) {
      const { status, body } = await api.get(path);
      if (status !== 200 || body === undefined) continue;
      const files = filesOf(body, keys);
      const text = JSON.stringify(files);
      if (shown.get(path) === text) continue;
      shown.set(path, text);
      volume.update(files);
    }
  };
}

function filesOf(object: ApiObject, keys: readonly string[] | undefined): Readonly<Record<string, Buffer>> {
  const encoding = object['kind'] === 'Secret' ? 'base64' : 'utf8';
  const all = Object.entries((object['data'] ?? {}) as Readonly<Record<string, string>>);
  const chosen = keys === undefined ? all : all.filter(([key]) => keys.includes(key));
  return Object.fromEntries(chosen.map(([key, value]) => [key, Buffer.from(value, encoding)]));
}
