// Which files of the folder of volumes are volume files, and what the actor of each is called: the name becomes that of a
// folder, of a log field and of a line for people, so that only names that are harmless as all of these are taken. Pure.

export type VolumeFileName =
  | { readonly kind: 'actor'; readonly actor: string }
  /** drafts, and what Kubernetes puts beside the files of a volume */
  | { readonly kind: 'hidden' }
  | { readonly kind: 'refused'; readonly reason: string };

const ending = '.yaml';
/** as the names of objects in Kubernetes, with capitals and underscores; a part of a path, so that Linux takes 255 bytes */
const actorName = /^[A-Za-z0-9](?:[-._A-Za-z0-9]{0,248}[A-Za-z0-9])?$/;

export function readVolumeFileName(name: string): VolumeFileName {
  if (name.startsWith('.')) return { kind: 'hidden' };
  if (!name.endsWith(ending)) return { kind: 'refused', reason: `its name does not end in ${ending}` };
  const actor = name.slice(0, -ending.length);
  if (actorName.test(actor)) return { kind: 'actor', actor };
  const reason =
    'an actor is called by letters, digits, hyphens, dots and underscores, at most 250, a letter or digit at each end';
  return { kind: 'refused', reason };
}
