// Sample kinds that together have fields of each type.

import type { KubeObject } from '../../../src/kubernetes/object.ts';
import {
  bool,
  int32,
  list,
  listByKey,
  map,
  objectStruct,
  pointer,
  struct,
  text,
  withoutOmitempty,
} from '../../../src/kubernetes/schema/go-struct.ts';
import type { Schema } from '../../../src/kubernetes/schema/schema.ts';

const strings: Schema = { type: 'object', additionalProperties: { type: 'string' } };

/** Schema of a custom resource. */
export const GADGET: Schema = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: {
        size: { type: 'integer' },
        name: { type: 'string', nullable: true },
        tags: { type: 'array', items: { type: 'string' } },
        set: { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } },
        ports: {
          type: 'array',
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['port', 'proto'],
          items: {
            type: 'object',
            properties: {
              port: { type: 'integer' },
              proto: { type: 'string', default: 'TCP' },
              note: { type: 'string' },
              inner: strings,
            },
          },
        },
        atomic: { type: 'object', 'x-kubernetes-map-type': 'atomic', properties: { x: { type: 'string' }, y: { type: 'string' } } },
        map: strings,
        deep: { type: 'object', properties: { m: { type: 'object', additionalProperties: strings }, n: { type: 'string' } } },
        free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
        ios: {},
      },
    },
    status: { type: 'object', properties: { phase: { type: 'string' } } },
  },
};

/** Schema of a built-in kind with a struct by value, a pointer, fields that are always encoded, and each type of list. */
export const LEDGER: Schema = objectStruct('v1.Ledger', {
  data: map(text()),
  spec: struct('v1.LedgerSpec', { holder: pointer(text()), count: int32(), names: struct('v1.Names', { plural: text() }) }),
  link: pointer(struct('v1.Link', { to: text() })),
  rules: withoutOmitempty(list(text()), null),
  frozen: pointer(bool()),
  secrets: listByKey(struct('v1.ObjectReference', { name: text(), note: text() }), 'name'),
  pulls: list(struct('v1.LocalObjectReference', { name: withoutOmitempty(text(), '') })),
});

export function gadget(fields: Readonly<Record<string, unknown>>, metadata: KubeObject['metadata'] = {}): KubeObject {
  return { apiVersion: 'fld.dev/v1', kind: 'Gadget', metadata: { name: 'g', ...metadata }, ...fields };
}

export function ledger(fields: Readonly<Record<string, unknown>>, metadata: KubeObject['metadata'] = {}): KubeObject {
  return { apiVersion: 'v1', kind: 'Ledger', metadata: { name: 'l', ...metadata }, ...fields };
}
