// The texts of an Event, within what the API server takes. Pure.

/** events.k8s.io/v1 validation, in bytes */
const maxNoteBytes = 1024;
const ellipsis = '…';

/** Cut between characters, never within one: half of one would be refused. */
export function fitNote(text: string): string {
  if (Buffer.byteLength(text) <= maxNoteBytes) return text;
  const room = maxNoteBytes - Buffer.byteLength(ellipsis);
  let size = 0;
  let kept = '';
  for (const char of text) {
    size += Buffer.byteLength(char);
    if (size > room) break;
    kept += char;
  }
  return `${kept}${ellipsis}`;
}

/** A DNS subdomain made of an object's name, which may hold what no Event's name can, and what makes it unique. */
export function eventName(objectName: string, unique: string): string {
  const stem = objectName
    .toLowerCase()
    .replace(/[^a-z0-9-]+/g, '-')
    .slice(0, 180)
    .replace(/^-+|-+$/g, '');
  return `${stem === '' ? 'object' : stem}.${unique}`;
}
