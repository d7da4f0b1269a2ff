import { describe, expect, it } from '@jest/globals';
import { fieldErrorText } from '../../../../src/kubernetes/field-error.ts';
import { schemaErrors } from '../../../kinds/definition/validity.ts';
import type { DeclaredSchema } from '../../../schema/declared/declared.ts';

const ROOT = 'spec.validation.openAPIV3Schema';

function errorsOf(root: DeclaredSchema, hasStatus = false): readonly string[] {
  return schemaErrors({ openAPIV3Schema: root }, 'spec.validation', hasStatus).map(fieldErrorText).sort();
}

/** The errors of one field, its path shortened to `@`. */
function fieldErrors(schema: object): readonly string[] {
  const texts = errorsOf({ type: 'object', properties: { v: schema } });
  return texts.map((text) => text.replaceAll(`${ROOT}.properties[v]`, '@'));
}

const NAMED = { type: 'object', 'x-kubernetes-validations': [{ rule: 'self.a != "x"' }] };
const KEYED = { type: 'array', 'x-kubernetes-list-type': 'map', items: { type: 'object', required: ['constructor'] } };

describe('the schema of a definition', () => {
  it.each<readonly [string, object, readonly string[]]>([
    ['a structural schema', { type: 'object', properties: { a: { type: 'string' } } }, []],
    ['untyped fields', {}, ['@.type: Required value: must not be empty for specified object fields']],
    ['lists without items', { type: 'array' }, ['@.items: Required value: must be specified']],
    ['formats that no type goes by', { ...NAMED, properties: { a: { type: 'string', format: 'constructor' } } }, []],
    [
      'keys that are no fields',
      { ...KEYED, 'x-kubernetes-list-map-keys': ['constructor'] },
      ['@.x-kubernetes-list-map-keys: Invalid value: ["constructor"]: entries must all be names of item properties'],
    ],
    ['untyped items', { type: 'array', items: {} }, ['@.items.type: Required value: must not be empty for specified array items']],
    [
      'unknown types',
      { type: 'foo' },
      ['@.type: Unsupported value: "foo": supported values: "array", "boolean", "integer", "number", "object", "string"'],
    ],
    [
      'the type null',
      { type: 'null' },
      [
        '@.type: Forbidden: type cannot be set to null, use nullable as an alternative',
        '@.type: Unsupported value: "null": supported values: "array", "boolean", "integer", "number", "object", "string"',
      ],
    ],
    [
      'unique items',
      { type: 'array', items: { type: 'string' }, uniqueItems: true },
      ['@.uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic'],
    ],
    [
      'fields beside a map',
      { type: 'object', properties: { a: { type: 'string' } }, additionalProperties: { type: 'string' } },
      ['@.additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive'],
    ],
    [
      'closed objects',
      { type: 'object', properties: { a: { type: 'string' } }, additionalProperties: false },
      ['@.additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive'],
    ],
    [
      'types and descriptions in alternatives',
      {
        type: 'object',
        properties: { a: { type: 'string' } },
        anyOf: [
          {
            type: 'object',
            properties: { a: { description: 'x', title: 't', nullable: true, default: 'q', additionalProperties: { type: 'string' } } },
          },
        ],
      },
      [
        '@.anyOf[0].properties[a].additionalProperties: Forbidden: must be undefined to be structural',
        '@.anyOf[0].properties[a].default: Forbidden: must be undefined to be structural',
        '@.anyOf[0].properties[a].description: Forbidden: must be empty to be structural',
        '@.anyOf[0].properties[a].nullable: Forbidden: must be false to be structural',
        '@.anyOf[0].properties[a].title: Forbidden: must be empty to be structural',
        '@.anyOf[0].type: Forbidden: must be empty to be structural',
      ],
    ],
    [
      'extensions in alternatives',
      {
        type: 'object',
        properties: { a: { type: 'string' } },
        allOf: [
          {
            properties: {
              a: {
                'x-kubernetes-preserve-unknown-fields': true,
                'x-kubernetes-embedded-resource': true,
                'x-kubernetes-int-or-string': true,
                'x-kubernetes-list-type': 'set',
                'x-kubernetes-list-map-keys': ['a'],
                'x-kubernetes-map-type': 'atomic',
                'x-kubernetes-validations': [{ rule: 'true' }],
              },
            },
          },
        ],
      },
      [
        '@.allOf[0].properties[a].type: Required value: must be array if x-kubernetes-list-type is specified',
        '@.allOf[0].properties[a].type: Required value: must be object if x-kubernetes-map-type is specified',
        '@.allOf[0].properties[a].x-kubernetes-embedded-resource: Forbidden: must be false to be structural',
        '@.allOf[0].properties[a].x-kubernetes-int-or-string: Forbidden: must be false to be structural',
        '@.allOf[0].properties[a].x-kubernetes-list-map-keys: Forbidden: must be empty to be structural',
        '@.allOf[0].properties[a].x-kubernetes-list-type: Forbidden: must be undefined to be structural',
        '@.allOf[0].properties[a].x-kubernetes-list-type: Invalid value: "set": must be map if x-kubernetes-list-map-keys is non-empty',
        '@.allOf[0].properties[a].x-kubernetes-map-type: Forbidden: must be undefined to be structural',
        '@.allOf[0].properties[a].x-kubernetes-preserve-unknown-fields: Forbidden: must be false to be structural',
        '@.allOf[0].properties[a].x-kubernetes-validations: Forbidden: must be empty to be structural',
      ],
    ],
    [
      'fields that only an alternative knows',
      { type: 'object', properties: { a: { type: 'string' } }, oneOf: [{ properties: { b: {} } }] },
      [],
    ],
    ['the two types of int-or-string', { 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'integer' }, { type: 'string' }] }, []],
    [
      'them in the first allOf',
      { 'x-kubernetes-int-or-string': true, allOf: [{ anyOf: [{ type: 'integer' }, { type: 'string' }] }, { maxLength: 5 }] },
      [],
    ],
    [
      'int-or-string that preserves',
      { 'x-kubernetes-int-or-string': true, 'x-kubernetes-preserve-unknown-fields': true },
      ['@.x-kubernetes-preserve-unknown-fields: Invalid value: true: must be false if x-kubernetes-int-or-string is true'],
    ],
    [
      'embedded resources without a type',
      { 'x-kubernetes-embedded-resource': true },
      [
        '@.properties: Required value: must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields',
        '@.type: Required value: must be object if x-kubernetes-embedded-resource is true',
      ],
    ],
    [
      'embedded resources of another type',
      { 'x-kubernetes-embedded-resource': true, type: 'string' },
      [
        '@.properties: Required value: must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields',
        '@.type: Invalid value: "string": must be object if x-kubernetes-embedded-resource is true',
      ],
    ],
    [
      'embedded resources without fields',
      { 'x-kubernetes-embedded-resource': true, type: 'object' },
      [
        '@.properties: Required value: must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields',
      ],
    ],
    [
      'embedded resources that preserve',
      { 'x-kubernetes-embedded-resource': true, type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
      [],
    ],
    [
      'odd types of embedded metadata',
      { 'x-kubernetes-embedded-resource': true, type: 'object', properties: { kind: { type: 'integer' }, metadata: { type: 'string' } } },
      [
        '@.properties[kind].type: Invalid value: "integer": must be string',
        '@.properties[metadata].type: Invalid value: "string": must be object',
      ],
    ],
    [
      'broken patterns',
      { type: 'string', pattern: '(' },
      ['@.pattern: Invalid value: "(": must be a valid regular expression, but isn\'t: error parsing regexp: missing closing ): `(`'],
    ],
    [
      'patterns that look ahead',
      { type: 'string', pattern: '(?=a)' },
      [
        '@.pattern: Invalid value: "(?=a)": must be a valid regular expression, but isn\'t: error parsing regexp: invalid or unsupported Perl syntax: `(?=`',
      ],
    ],
    [
      'preserving set to false',
      { type: 'object', 'x-kubernetes-preserve-unknown-fields': false },
      ['@.x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true or undefined'],
    ],
    [
      'unknown list types',
      { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'foo' },
      ['@.x-kubernetes-list-type: Unsupported value: "foo": supported values: "atomic", "set", "map"'],
    ],
    [
      'list types of objects',
      { type: 'object', 'x-kubernetes-list-type': 'set' },
      ['@.type: Invalid value: "object": must be array if x-kubernetes-list-type is specified'],
    ],
    [
      'unknown map types',
      { type: 'object', 'x-kubernetes-map-type': 'foo' },
      ['@.x-kubernetes-map-type: Unsupported value: "foo": supported values: "atomic", "granular"'],
    ],
    [
      'map types of strings',
      { type: 'string', 'x-kubernetes-map-type': 'atomic' },
      ['@.type: Invalid value: "string": must be object if x-kubernetes-map-type is specified'],
    ],
    [
      'keys without a list type',
      { type: 'array', items: { type: 'object', properties: { k: { type: 'string' } } }, 'x-kubernetes-list-map-keys': ['k'] },
      ['@.x-kubernetes-list-type: Required value: must be map if x-kubernetes-list-map-keys is non-empty'],
    ],
    [
      'keys of a set',
      { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'set', 'x-kubernetes-list-map-keys': ['k'] },
      ['@.x-kubernetes-list-type: Invalid value: "set": must be map if x-kubernetes-list-map-keys is non-empty'],
    ],
    [
      'maps without keys',
      { type: 'array', items: { type: 'object', properties: { k: { type: 'string' } } }, 'x-kubernetes-list-type': 'map' },
      ['@.x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map'],
    ],
    [
      'maps of scalars',
      { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['k'] },
      [`@.items.type: Invalid value: "string": must be object if parent array's x-kubernetes-list-type is map`],
    ],
    [
      'missing and repeated keys',
      {
        type: 'array',
        items: { type: 'object', properties: { k: { type: 'string' } } },
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['x', 'k', 'k'],
      },
      [
        '@.items.properties[k].default: Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property',
        '@.items.properties[k].default: Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property',
        '@.x-kubernetes-list-map-keys: Invalid value: ["x","k","k"]: entries must all be names of item properties',
        '@.x-kubernetes-list-map-keys: Invalid value: ["x","k","k"]: must not contain duplicate entries',
      ],
    ],
    [
      'objects as keys',
      {
        type: 'array',
        items: { type: 'object', required: ['k'], properties: { k: { type: 'object' } } },
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['k'],
      },
      [`@.items.properties[k].type: Invalid value: "object": must be a scalar type if parent array's x-kubernetes-list-type is map`],
    ],
    [
      'nullable keys and items',
      {
        type: 'array',
        items: { type: 'object', nullable: true, properties: { k: { type: 'string', nullable: true, default: 'x' } } },
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['k'],
      },
      [
        '@.items.nullable: Forbidden: cannot be nullable when x-kubernetes-list-type is map',
        '@.items.properties[k].nullable: Forbidden: this property is in x-kubernetes-list-map-keys, so it cannot be nullable',
      ],
    ],
    [
      'sets of granular objects',
      { type: 'array', items: { type: 'object' }, 'x-kubernetes-list-type': 'set' },
      ['@.items.x-kubernetes-map-type: Invalid value: null: must be atomic as item of a list with x-kubernetes-list-type=set'],
    ],
    [
      'sets of sets',
      {
        type: 'array',
        items: { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'set' },
        'x-kubernetes-list-type': 'set',
      },
      ['@.items.x-kubernetes-list-type: Invalid value: "set": must be atomic as item of a list with x-kubernetes-list-type=set'],
    ],
    [
      'defaults of the wrong type',
      { type: 'object', properties: { a: { type: 'integer', default: 'x' } } },
      ['@.properties[a].default: Invalid value: "string":  in body must be of type integer: "string"'],
    ],
    [
      'defaults with unknown fields',
      { type: 'object', properties: { b: { type: 'object', properties: { c: { type: 'string' } }, default: { d: 1 } } } },
      ['@.properties[b].default: Invalid value: {"d":1}: must not have unknown fields'],
    ],
    [
      'defaults that break a rule',
      {
        type: 'object',
        properties: { a: { type: 'integer', default: 1, 'x-kubernetes-validations': [{ rule: 'self > 2', message: 'm' }] } },
      },
      ['@.properties[a].default: Invalid value: 1: m'],
    ],
    [
      'malformed rules',
      {
        type: 'object',
        properties: { a: { type: 'string' } },
        'x-kubernetes-validations': [
          { rule: ' ' },
          { rule: 'true', message: ' ' },
          { rule: 'true', message: 'a\nb' },
          { rule: 'true\n&& true' },
          { rule: '1 == 1', messageExpression: ' ' },
          { rule: '2 == 2', reason: 'Foo' },
          { rule: '3 == 3', fieldPath: '.b' },
        ],
      },
      [
        '@.x-kubernetes-validations[0].rule: Required value: rule is not specified',
        '@.x-kubernetes-validations[1].message: Invalid value: " ": must be non-empty if specified',
        '@.x-kubernetes-validations[2].message: Invalid value: "a\\nb": must not contain line breaks',
        '@.x-kubernetes-validations[3].message: Required value: message must be specified if rule contains line breaks',
        '@.x-kubernetes-validations[4].messageExpression: Required value: messageExpression must be non-empty if specified',
        '@.x-kubernetes-validations[5].reason: Unsupported value: "Foo": supported values: "FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"',
        '@.x-kubernetes-validations[6].fieldPath: Invalid value: ".b": must be a valid path',
      ],
    ],
    [
      'rules on undefined fields',
      { type: 'object', properties: { a: { type: 'string' } }, 'x-kubernetes-validations': [{ rule: 'self.b == "x"' }] },
      [
        '@.x-kubernetes-validations[0].rule: Invalid value: {"Rule":"self.b == \\"x\\"","Message":"","MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":null}: compilation failed: ERROR: <input>:1:5: undefined field \'b\'\n | self.b == "x"\n | ....^',
      ],
    ],
    [
      'rules with undeclared names',
      { type: 'object', properties: { a: { type: 'string' } }, 'x-kubernetes-validations': [{ rule: 'foo' }] },
      [
        '@.x-kubernetes-validations[0].rule: Invalid value: {"Rule":"foo","Message":"","MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":null}: compilation failed: ERROR: <input>:1:1: undeclared reference to \'foo\' (in container \'\')\n | foo\n | ^',
      ],
    ],
    [
      'rules that are not true or false',
      { type: 'object', properties: { a: { type: 'string' } }, 'x-kubernetes-validations': [{ rule: 'self.a', message: 'm' }] },
      [
        '@.x-kubernetes-validations[0].rule: Invalid value: {"Rule":"self.a","Message":"m","MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":null}: cel expression must evaluate to a bool',
      ],
    ],
    [
      'messages that are not texts',
      { type: 'object', 'x-kubernetes-validations': [{ rule: 'true', messageExpression: '1' }] },
      [
        '@.x-kubernetes-validations[0].messageExpression: Invalid value: {"Rule":"true","Message":"","MessageExpression":"1","Reason":null,"FieldPath":"","OptionalOldSelf":null}: messageExpression must evaluate to a string',
      ],
    ],
    [
      'transition rules that cannot be followed',
      {
        type: 'array',
        items: { type: 'object', properties: { a: { type: 'string', 'x-kubernetes-validations': [{ rule: 'self == oldSelf' }] } } },
      },
      [
        '@.items.properties[a].x-kubernetes-validations[0].rule: Invalid value: "self == oldSelf": oldSelf cannot be used on the uncorrelatable portion of the schema within @',
      ],
    ],
    [
      'optional oldSelf that is not used',
      { type: 'object', 'x-kubernetes-validations': [{ rule: 'true', optionalOldSelf: true }] },
      ['@.x-kubernetes-validations[0].optionalOldSelf: Invalid value: true: may not be set if oldSelf is not used in rule'],
    ],
    [
      'rules on values of any type',
      { 'x-kubernetes-preserve-unknown-fields': true, 'x-kubernetes-validations': [{ rule: 'true' }] },
      [
        '@.x-kubernetes-validations: Internal error: internal error: failed to construct type information for x-kubernetes-validations rules: unable to convert structural schema to CEL declarations',
      ],
    ],
    [
      'what OpenAPI has and CRDs have not',
      {
        type: 'object',
        $ref: '#/x',
        id: 'x',
        definitions: { a: { type: 'string' } },
        patternProperties: { a: { type: 'string' } },
        dependencies: { a: ['b'] },
        additionalItems: true,
      },
      [
        '@.$ref: Forbidden: $ref is not supported',
        '@.additionalItems: Forbidden: additionalItems is not supported',
        '@.definitions: Forbidden: definitions is not supported',
        '@.dependencies: Forbidden: dependencies is not supported',
        '@.id: Forbidden: id is not supported',
        '@.patternProperties: Forbidden: patternProperties is not supported',
      ],
    ],
  ])('judges %s', (_, schema, expected) => {
    expect(fieldErrors(schema)).toEqual(expected);
  });

  it('wants fields of alternatives to be declared, whatever they are called', () => {
    expect(errorsOf({ type: 'object', anyOf: [{ properties: { constructor: { minLength: 1 } } }] })).toEqual([
      `${ROOT}.properties[constructor]: Required value: because it is defined in ${ROOT}.anyOf[0].properties[constructor]`,
    ]);
  });

  it.each<readonly [string, DeclaredSchema, readonly string[]]>([
    ['no type', {}, [`${ROOT}.type: Required value: must not be empty at the root`]],
    ['another type', { type: 'string' }, [`${ROOT}.type: Invalid value: "string": must be object at the root`]],
    [
      'map values',
      { type: 'object', additionalProperties: { type: 'string' } },
      [`${ROOT}.additionalProperties: Forbidden: must not be used at the root`],
    ],
    ['null', { type: 'object', nullable: true }, [`${ROOT}.nullable: Forbidden: nullable cannot be true at the root`]],
    ['restricted names', { type: 'object', properties: { metadata: { type: 'object', properties: { name: { type: 'string' } } } } }, []],
    [
      'other metadata',
      {
        type: 'object',
        properties: { metadata: { type: 'object', properties: { labels: { type: 'object' } } }, kind: { type: 'integer' } },
      },
      [
        `${ROOT}.properties[kind].type: Invalid value: "integer": must be string`,
        `${ROOT}.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified`,
      ],
    ],
    [
      'defaults of metadata',
      { type: 'object', properties: { metadata: { type: 'object', default: {} } } },
      [`${ROOT}.properties[metadata].default: Forbidden: must not be set in top-level metadata`],
    ],
  ])('judges %s at the root', (_, schema, expected) => {
    expect(errorsOf(schema)).toEqual(expected);
  });

  it('keeps the root of a schema with a status subresource simple', () => {
    expect(errorsOf({ type: 'object', required: ['spec'] }, true)).toEqual([]);
    expect(errorsOf({ type: 'object', maxProperties: 5 }, true)).toEqual([expect.stringContaining('fields are allowed at the root')]);
  });
});
