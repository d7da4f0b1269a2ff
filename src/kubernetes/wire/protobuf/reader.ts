// The wire format of protobuf: tags, varints and lengths, with the errors of Kubernetes' generated code.

/** Tag of a value: field number and wire type. */
export interface Tag {
  readonly number: number;
  readonly wireType: number;
}

export const VARINT = 0;
export const FIXED_64 = 1;
export const LENGTH_DELIMITED = 2;
const START_GROUP = 3;
const END_GROUP = 4;
const FIXED_32 = 5;

/** Reads one message from its start to its end. Methods throw an Error with Go's message if the bytes are invalid. */
export class ProtobufReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get isDone(): boolean {
    return this.#at >= this.#bytes.length;
  }

  /** Reads the next tag. Checks the tag only if `struct` (a name for errors) is set: Go does not check tags in map entries and groups. */
  tag(struct?: string): Tag {
    const wire = this.varint();
    const tag = { number: Number(BigInt.asIntN(32, wire >> 3n)), wireType: Number(wire & 7n) };
    if (struct === undefined) return tag;
    if (tag.wireType === END_GROUP) throw new Error(`proto: ${struct}: wiretype end group for non-group`);
    if (tag.number <= 0) throw new Error(`proto: ${struct}: illegal tag ${tag.number} (wire type ${wire})`);
    return tag;
  }

  /** Reads an unsigned integer of 64 bits. */
  varint(): bigint {
    let value = 0n;
    for (let shift = 0n; shift < 64n; shift += 7n) {
      const byte = this.#byte();
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asUintN(64, value);
    }
    throw new Error('proto: integer overflow');
  }

  /** Reads a float64. */
  double(): number {
    const at = this.#at;
    this.#advance(8);
    return this.#bytes.readDoubleLE(at);
  }

  /** Reads a length-delimited value: text, bytes or a message. */
  delimited(): Buffer {
    const length = BigInt.asIntN(64, this.varint());
    if (length < 0n || BigInt.asIntN(64, length + BigInt(this.#at)) < 0n) {
      throw new Error('proto: negative length found during unmarshaling');
    }
    const at = this.#at;
    this.#advance(Number(length));
    return this.#bytes.subarray(at, this.#at);
  }

  /** Skips the value of an unknown field. */
  skip({ wireType }: Tag): void {
    let depth = 0;
    for (let type = wireType; ; type = this.tag().wireType) {
      if (type === START_GROUP) depth++;
      else if (type === END_GROUP) depth--;
      else this.#skipValue(type);
      if (depth < 0) throw new Error('proto: unexpected end of group');
      if (depth === 0) return;
    }
  }

  #skipValue(wireType: number): void {
    if (wireType === VARINT) this.varint();
    else if (wireType === FIXED_64) this.#advance(8);
    else if (wireType === LENGTH_DELIMITED) this.delimited();
    else if (wireType === FIXED_32) this.#advance(4);
    else throw new Error(`proto: illegal wireType ${wireType}`);
  }

  #byte(): number {
    const at = this.#at;
    this.#advance(1);
    return this.#bytes.readUInt8(at);
  }

  #advance(length: number): void {
    if (this.#at + length > this.#bytes.length) throw new Error('unexpected EOF');
    this.#at += length;
  }
}
