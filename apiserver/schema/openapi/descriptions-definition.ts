// Descriptions of CustomResourceDefinitions.

import type { Descriptions } from './descriptions-family.ts';

export const DEFINITION_DESCRIPTIONS: Descriptions = {
  CustomResourceDefinition: {
    '': 'Defines a kind of objects of your own.',
    spec: 'How the kind is called, and what its objects look like.',
    status: 'Whether the kind is served, and under which names.',
  },
  CustomResourceDefinitionSpec: {
    '': 'How a kind is called, and what its objects look like.',
    group: 'The API group. It cannot be changed.',
    names: 'The names of the kind.',
    scope: 'Cluster, or Namespaced for objects that are in namespaces. It cannot be changed.',
    versions: 'The versions of the kind.',
    conversion: 'How objects are converted between versions.',
    preserveUnknownFields: 'Not used any more: see x-kubernetes-preserve-unknown-fields in schemas.',
  },
  CustomResourceDefinitionNames: {
    '': 'The names of a kind.',
    plural: 'The name in paths, in small letters.',
    singular: 'The name for one object; the kind in small letters if absent.',
    shortNames: 'Short names for kubectl.',
    kind: 'The kind, such as Widget.',
    listKind: 'The kind of lists; WidgetList if absent.',
    categories: 'Groups of kinds that kubectl can ask for at once, such as all.',
  },
  CustomResourceDefinitionVersion: {
    '': 'One version of a kind.',
    name: 'The name, such as v1 or v1beta1.',
    served: 'Whether it can be used.',
    storage: 'Whether objects are stored in this version. That is so for exactly one.',
    deprecated: 'Whether those who use it are warned.',
    deprecationWarning: 'The warning, where the usual one will not do.',
    schema: 'What objects look like.',
    subresources: 'Parts of objects that are written by themselves.',
    additionalPrinterColumns: 'Columns that kubectl shows besides the name.',
    selectableFields: 'Fields that field selectors may name.',
  },
  CustomResourceDefinitionStatus: {
    '': 'Whether a kind is served, and under which names.',
    conditions: 'NamesAccepted, Established and, at its end, Terminating.',
    acceptedNames: 'The names under which it is served.',
    storedVersions: 'All versions in which objects may be stored.',
    observedGeneration: 'The generation that was last looked at.',
  },
  CustomResourceColumnDefinition: {
    '': 'A column that kubectl shows.',
    name: 'Its title.',
    type: 'The type of its values: string, integer, number, boolean or date.',
    format: 'The format of its values.',
    description: 'What it shows.',
    priority: 'From 1 on it is only shown in wide tables.',
    jsonPath: 'Where its values are, such as .spec.size.',
  },
};
