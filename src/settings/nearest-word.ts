// The word that was probably meant. Pure.

/** Undefined when none of `known` is near; case, hyphens and underscores do not count. */
export function nearestWord(word: string, known: readonly string[]): string | undefined {
  const plain = plainText(word);
  const ranked = known
    .map((candidate) => ({ candidate, distance: editDistance(plain, plainText(candidate)) }))
    .filter(({ candidate, distance }) => distance <= Math.max(1, Math.floor(candidate.length / 3)))
    .toSorted((a, b) => a.distance - b.distance);
  return ranked[0]?.candidate;
}

/** what is longer is no slip of a known word */
const maxCompared = 40;

function plainText(word: string): string {
  return word.toLowerCase().replace(/[-_]/g, '').slice(0, maxCompared);
}

/** Levenshtein's distance: how many letters must be put in, taken out or changed */
function editDistance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let index = 0; index < one.length; index += 1) {
    let diagonal = index;
    const next = [index + 1];
    for (let column = 1; column <= other.length; column += 1) {
      const above = row[column] ?? 0;
      const cost = diagonal + (other[column - 1] === one[index] ? 0 : 1);
      next.push(Math.min(cost, above + 1, (next[column - 1] ?? 0) + 1));
      diagonal = above;
    }
    row = next;
  }
  return row[other.length] ?? 0;
}
