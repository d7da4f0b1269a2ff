// Order of keys in YAML output: letters last, and numbers inside strings by their value.

/** Orders keys as the YAML library of Kubernetes does. */
export function compareYamlKeys(a: string, b: string): number {
  const [left, right] = [Array.from(a), Array.from(b)];
  const at = left.findIndex((char, index) => char !== right[index]);
  const [leftChar, rightChar] = [left[at], right[at]];
  if (leftChar === undefined || rightChar === undefined) return left.length - right.length;
  const [leftIsLetter, rightIsLetter] = [isLetter(leftChar), isLetter(rightChar)];
  if (leftIsLetter !== rightIsLetter) return leftIsLetter ? 1 : -1;
  const byCode = codeOf(leftChar) - codeOf(rightChar);
  if (leftIsLetter) return byCode;
  // Zeros are significant after a digit other than zero; the start value 1 keeps them in the number.
  const start = (leftChar === '0' || rightChar === '0') && isInNumber(left.slice(0, at)) ? 1n : 0n;
  const [leftNumber, rightNumber] = [parseNumberAt(left, at, start), parseNumberAt(right, at, start)];
  if (leftNumber.value !== rightNumber.value) return leftNumber.value < rightNumber.value ? -1 : 1;
  return leftNumber.length - rightNumber.length || byCode;
}

interface NumberInText {
  /** Value as an int64 that overflows silently. */
  readonly value: bigint;
  readonly length: number;
}

function parseNumberAt(chars: readonly string[], at: number, start: bigint): NumberInText {
  const [digits = ''] = /^\p{Nd}*/u.exec(chars.slice(at).join('')) ?? [];
  const value = Array.from(digits).reduce((sum, digit) => BigInt.asIntN(64, sum * 10n + BigInt(codeOf(digit) - 0x30)), start);
  return { value, length: Array.from(digits).length };
}

/** Returns whether the digits at the end contain any digit except zero. */
function isInNumber(chars: readonly string[]): boolean {
  const lastOther = chars.findLastIndex((char) => !/\p{Nd}/u.test(char));
  return chars.slice(lastOther + 1).some((char) => char !== '0');
}

function isLetter(char: string): boolean {
  return /\p{L}/u.test(char);
}

function codeOf(char: string): number {
  return char.codePointAt(0) ?? 0;
}
