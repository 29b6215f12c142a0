// Envoy's files for where room is scarce: in a ConfigMap all of a gateway's files share 900 KiB. JSON without spaces; in the
// bootstrap, a part that stands there more than once is written once, under a name (`&egress`), and pointed to (`*egress`) from
// then on. That is YAML (JSON is YAML, 1.2.2 section 1.3), and takes a third of what JSON alone does. Pure.
import { isRecord } from '../is-record.ts';
import type { JsonObject } from './json.ts';
import type { EnvoyFileStyle } from './rendered-files.ts';

export const compactFiles: EnvoyFileStyle = {
  bootstrap: (document) => bootstrapHead + writeShared(document),
  followed: (document) => `${JSON.stringify(document)}\n`,
};

const bootstrapHead = [
  '# Made by leafgate controller: a change here makes new pods. What stands here more than once has a name (&name) where it is',
  "# written and is pointed to (*name) elsewhere: `yq 'explode(.)'` writes it all out.",
  '',
].join('\n');

/** chars of JSON: a shorter part would hardly be longer than what points to it, and reads better where it stands */
const leastShared = 100;

function writeShared(document: JsonObject): string {
  const repeated = repeatedParts(document);
  const anchors = new Map<string, string>();
  const taken = new Set<string>();

  const write = (part: unknown, label: string): string => {
    const text = JSON.stringify(part);
    if (!repeated.has(text)) return writeParts(part, label);
    const known = anchors.get(text);
    if (known !== undefined) return `*${known}`;
    const name = anchorName(label, taken);
    anchors.set(text, name);
    return `&${name} ${writeParts(part, label)}`;
  };
  const writeParts = (part: unknown, label: string): string => {
    if (Array.isArray(part)) return `[${part.map((child: unknown) => write(child, labelOf(child, label))).join(',')}]`;
    if (!isRecord(part)) return JSON.stringify(part);
    const fields = Object.entries(part).map(
      ([key, child]) => `${JSON.stringify(key)}: ${write(child, labelOf(child, key))}`,
    );
    return `{${fields.join(',')}}`;
  };
  return `${write(document, 'document')}\n`;
}

/** By their JSON, which is the same for equal parts: the generator sets fields in one order. */
function repeatedParts(document: JsonObject): ReadonlySet<string> {
  const seen = new Set<string>();
  const repeated = new Set<string>();
  const look = (part: unknown): void => {
    if (typeof part !== 'object' || part === null) return;
    const text = JSON.stringify(part);
    if (text.length < leastShared) return;
    if (seen.has(text)) {
      // what stands in a repeated part is repeated with it
      repeated.add(text);
      return;
    }
    seen.add(text);
    for (const child of Object.values(part)) look(child);
  };
  look(document);
  return repeated;
}

function labelOf(part: unknown, otherwise: string): string {
  return isRecord(part) && typeof part['name'] === 'string' ? part['name'] : otherwise;
}

/** An anchor may hold no blank and no bracket or comma, and is not empty (YAML 1.2.2 section 6.9.2). */
function anchorName(label: string, taken: Set<string>): string {
  const stem = label.replaceAll(/[^\w.-]+/g, '-') || 'part';
  let name = stem;
  for (let count = 2; taken.has(name); count += 1) name = `${stem}-${count}`;
  taken.add(name);
  return name;
}
