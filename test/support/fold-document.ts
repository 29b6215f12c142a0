// Makes a generated document short enough to be read: a part that stands in it more than once is written once, under a
// name, and pointed to. Nothing is left out, which `unfold` shows.

export type Folded = { readonly document: unknown; readonly shared: Readonly<Record<string, unknown>> };

const pointer = '=> ';
/** shorter parts are as easily read where they stand, in chars of JSON */
const leastShared = 120;

export function fold(document: unknown): Folded {
  const seen = countParts(document);
  const names = new Map<string, string>();
  const shared: Record<string, unknown> = {};
  const taken = new Map<string, number>();

  const nameFor = (label: string): string => {
    const count = (taken.get(label) ?? 0) + 1;
    taken.set(label, count);
    return count === 1 ? label : `${label} ${count}`;
  };
  const folded = (part: unknown, label: string): unknown => {
    if (!isNode(part)) return part;
    const text = JSON.stringify(part);
    if (text.length < leastShared || (seen.get(text) ?? 0) < 2) return children(part, label);
    const known = names.get(text);
    if (known !== undefined) return pointer + known;
    const name = nameFor(label);
    names.set(text, name);
    // its place comes before those of its own parts
    shared[name] = undefined;
    shared[name] = children(part, label);
    return pointer + name;
  };
  const children = (part: object, label: string): unknown => {
    if (Array.isArray(part)) return part.map((child) => folded(child, labelOf(child) ?? label));
    return Object.fromEntries(Object.entries(part).map(([key, child]) => [key, folded(child, labelOf(child) ?? key)]));
  };
  return { document: isNode(document) ? children(document, 'document') : document, shared };
}

export function unfold({ document, shared }: Folded): unknown {
  const open = (part: unknown): unknown => {
    if (typeof part === 'string' && part.startsWith(pointer)) return open(shared[part.slice(pointer.length)]);
    if (!isNode(part)) return part;
    if (Array.isArray(part)) return part.map(open);
    return Object.fromEntries(Object.entries(part).map(([key, child]) => [key, open(child)]));
  };
  return open(document);
}

/** how often each part stands in the document, by its JSON; what stands in a repeated part counts once */
function countParts(document: unknown): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  const count = (part: unknown): void => {
    if (!isNode(part)) return;
    const text = JSON.stringify(part);
    const before = counts.get(text) ?? 0;
    counts.set(text, before + 1);
    if (before === 0) for (const child of Object.values(part)) count(child);
  };
  count(document);
  return counts;
}

function labelOf(part: unknown): string | undefined {
  return isNode(part) && 'name' in part && typeof part.name === 'string' ? part.name : undefined;
}

function isNode(part: unknown): part is object {
  return typeof part === 'object' && part !== null;
}
