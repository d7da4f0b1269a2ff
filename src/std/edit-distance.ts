// Edit distance between two words, and the search for a similar word.

/** Returns the Levenshtein distance: the minimum number of characters to add, remove or replace. */
export function computeEditDistance(a: string, b: string): number {
  let above = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let line = 1; line <= a.length; line += 1) {
    const row = [line];
    for (let column = 1; column <= b.length; column += 1) {
      const replaced = (above[column - 1] ?? 0) + (a[line - 1] === b[column - 1] ? 0 : 1);
      row.push(Math.min(replaced, (above[column] ?? 0) + 1, (row[column - 1] ?? 0) + 1));
    }
    above = row;
  }
  return above[b.length] ?? 0;
}

/** Maximum edit distance of a similar word, in characters; two transposed letters are two edits. */
const MAX_EDITS = 2;

/** Returns the most similar word of `all`; undefined if no word is similar or if several are equally similar. */
export function findSimilar(word: string, all: readonly string[]): string | undefined {
  const distances = all.map((known) => computeEditDistance(word, known));
  const least = Math.min(...distances);
  const isUnique = least <= MAX_EDITS && distances.indexOf(least) === distances.lastIndexOf(least);
  return isUnique ? all[distances.indexOf(least)] : undefined;
}
