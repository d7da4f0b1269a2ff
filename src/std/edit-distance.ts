// Edit distance of two words, and similar words.

/** Returns the Levenshtein distance: the number of added, removed or replaced characters. */
export function editDistance(a: string, b: string): number {
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

/** Maximum edit distance of a similar word; two transposed letters are two edits. */
const MAX_EDITS = 2;

/** Returns the most similar word of `all`; undefined if no word, or more than one, is the most similar. */
export function findSimilar(word: string, all: readonly string[]): string | undefined {
  const distances = all.map((known) => editDistance(word, known));
  const least = Math.min(...distances);
  const isUnique = least <= MAX_EDITS && distances.indexOf(least) === distances.lastIndexOf(least);
  return isUnique ? all[distances.indexOf(least)] : undefined;
}
