// Bodies of token requests in protobuf, as kubectl sends them, with odd fields and odd bytes.

import { pick } from '../support/random.ts';

type Random = () => number;

/** Number and value of a field. A numeric value is encoded as a varint, other values with their length. */
type Field = readonly [number: number, value: number | string | Buffer | readonly Field[]];

/** Returns a TokenRequest, which may have odd fields, another kind or odd bytes. */
export function randomProtobuf(random: Random): Buffer {
  const spec: Field[] = [[1, 'vault']];
  if (random() < 0.3) spec.push([1, 'b']);
  if (random() < 0.5) spec.push([4, pick(random, [600, 3600, 0, 599])]);
  if (random() < 0.3)
    spec.push([
      3,
      [
        [1, pick(random, ['Pod', 'Secret', 'Node'])],
        [2, 'v1'],
        [3, pick(random, ['web', 'bindme', 'missing'])],
      ],
    ]);
  if (random() < 0.15) spec.push(pick(random, ODD_FIELDS));
  const tokenRequest: Field[] = [
    [1, metadata(random)],
    [2, spec],
    [
      3,
      [
        [1, ''],
        [2, []],
      ],
    ],
  ];
  if (random() < 0.15) tokenRequest.splice(Math.floor(random() * 4), 0, pick(random, ODD_FIELDS));
  const apiVersion = pick(random, [
    'authentication.k8s.io/v1',
    'authentication.k8s.io/v1',
    'authentication.k8s.io/v1',
    'v1',
    '',
    'authentication.k8s.io/v9',
  ]);
  const kind = pick(random, ['TokenRequest', 'TokenRequest', 'TokenRequest', 'TokenRequest', 'TokenReview', '', 'Foo']);
  const typeMeta: Field = [
    1,
    [
      [1, apiVersion],
      [2, kind],
    ],
  ];
  const unknown: Field[] = [
    typeMeta,
    [2, encode(tokenRequest)],
    [3, pick(random, ['', '', '', 'gzip'])],
    [4, pick(random, ['', '', '', 'application/json'])],
  ];
  const message = Buffer.concat([Buffer.from('k8s\0'), encode(unknown)]);
  return random() < 0.3 ? garble(random, message) : message;
}

function metadata(random: Random): readonly Field[] {
  const all: readonly Field[] = [
    [1, pick(random, ['builder', 'other'])],
    [3, pick(random, ['team-a', 'default'])],
    [5, 'u'],
    [
      11,
      [
        [1, 'app'],
        [2, 'web'],
      ],
    ],
    [
      12,
      [
        [1, 'note'],
        [2, '<&>'],
      ],
    ],
    [7, 3],
    [8, [[1, 1_700_000_000]]],
    [14, 'a/b'],
  ];
  return all.filter(() => random() < 0.2);
}

const ODD_FIELDS: readonly Field[] = [
  [99, 'x'],
  [99, 5],
  [1, 5],
  [2, 7],
  [4, 'text'],
  [3, 'text'],
  [1, [[99, 'x']]],
  [2, []],
];

function encode(fields: readonly Field[]): Buffer {
  return Buffer.concat(fields.map(([number, value]) => encodeField(number, value)));
}

function encodeField(number: number, value: Field[1]): Buffer {
  if (typeof value === 'number') return Buffer.concat([varint(number << 3), varint(value)]);
  const bytes = typeof value === 'string' ? Buffer.from(value) : Buffer.isBuffer(value) ? value : encode(value);
  return Buffer.concat([varint((number << 3) | 2), varint(bytes.length), bytes]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  while (rest > 0x7f) {
    bytes.push((rest % 0x80) | 0x80);
    rest = Math.floor(rest / 0x80);
  }
  return Buffer.from([...bytes, rest]);
}

/** Returns the message truncated, or with one byte removed, changed or appended. */
function garble(random: Random, message: Buffer): Buffer {
  const at = Math.floor(random() * message.length);
  // Strings that are not UTF-8 are a documented difference.
  const byte = Math.floor(random() * 128);
  return pick(random, [
    message.subarray(0, at),
    Buffer.concat([message.subarray(0, at), message.subarray(at + 1)]),
    Buffer.concat([message.subarray(0, at), Buffer.from([byte]), message.subarray(at + 1)]),
    Buffer.concat([message, Buffer.from([byte])]),
  ]);
}
