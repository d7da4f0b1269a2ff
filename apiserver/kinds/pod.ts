// Pods and Nodes: inert objects, to which tokens can be bound.

import { objectStruct, pointer, raw } from '../../src/kubernetes/schema/go-struct.ts';
import { DEFAULT_TABLE } from '../../src/kubernetes/table.ts';
import { createBuiltInKind, type Kind } from './kind.ts';
import { validateCoreMetadata, validateCoreMetadataUpdate, validateSubdomainName } from './metadata.ts';

export const podKind: Kind = createInertKind('Pod', true, { shortNames: ['po'], categories: ['all'] });
export const nodeKind: Kind = createInertKind('Node', false, { shortNames: ['no'], categories: [] });

function createInertKind(kind: string, namespaced: boolean, names: Pick<Kind, 'shortNames' | 'categories'>): Kind {
  return createBuiltInKind({
    kind,
    namespaced,
    ...names,
    schema: objectStruct(`v1.${kind}`, { spec: pointer(raw()), status: pointer(raw()) }),
    table: DEFAULT_TABLE,
    strategy: {
      deleteReturnsObject: namespaced,
      validate: (object) => validateCoreMetadata(object, { namespaced, validateName: validateSubdomainName }),
      validateUpdate: validateCoreMetadataUpdate,
    },
  });
}
