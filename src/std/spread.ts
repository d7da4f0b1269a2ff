// Spreads objects evenly by their UIDs: the same UID always gets the same place.

/** The first instant after `after` that is this object's; each has a place of its own in every interval. */
export function nextTurnAt(what: string, uid: string, after: number, intervalMs: number): number {
  const offsetMs = Math.floor(shareOf(`${what} ${uid}`) * intervalMs);
  return (Math.floor((after - offsetMs) / intervalMs) + 1) * intervalMs + offsetMs;
}

/** A number in [0, 1) that depends on nothing but the text. */
export function shareOf(text: string): number {
  return mixed(fnv1a(text)) / 2 ** 32;
}

/** FNV-1a of the text's UTF-16 units: short texts that differ get numbers that differ. */
export function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash >>> 0;
}

/** The last step of MurmurHash3: without it, texts that differ in their last character stay neighbours. */
function mixed(hash: number): number {
  let bits = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}
