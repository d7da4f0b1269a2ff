// The versions of a CustomResourceDefinition. What all of them share is reported as if it stood beside them.

import { type FieldError, invalidStruct, invalidValue, requiredValue } from '../../../src/kubernetes/field-error.ts';
import { dns1035LabelProblems } from '../../../src/kubernetes/names.ts';
import { isGoPrintable } from '../../../src/std/go-text.ts';
import { sameValue } from '../../same-value.ts';
import { columnErrors, scaleErrors, selectableErrors } from './columns.ts';
import type { DefinitionSpec, DefinitionVersion } from './types.ts';
import { schemaErrors } from './validity.ts';

type Shared = 'schema' | 'subresources' | 'additionalPrinterColumns' | 'selectableFields';

/** What is wrong with the versions of a definition. */
export function versionErrors({ versions }: DefinitionSpec): readonly FieldError[] {
  const names = new Set(versions.map(({ name }) => name));
  const stored = versions.filter(({ storage }) => storage).length;
  const wrong = (detail: string) => invalidStruct('spec.versions', versions.map(structOf), detail);
  return [
    ...versions.flatMap((version, index) => nameErrors(version, `spec.versions[${index}]`)),
    ...versions.flatMap((version, index) => missingSchema(version, index)),
    ...(names.size === versions.length ? [] : [wrong('must contain unique version names')]),
    ...(stored === 1 ? [] : [wrong('must have exactly one version marked as storage version')]),
    ...versions.slice(0, 1).flatMap(({ name }) => (name === '' ? [] : labelErrors(name, 'spec.version'))),
    ...each(versions, 'schema', 'spec.validation', (version, path) => schemaErrors(version.schema, path, hasStatus(version, versions))),
    ...each(versions, 'subresources', 'spec.subresources', (version, path) => scaleErrors(version.subresources?.scale, `${path}.scale`)),
    ...each(versions, 'additionalPrinterColumns', 'spec.additionalPrinterColumns', (version, path) =>
      (version.additionalPrinterColumns ?? []).flatMap((column, index) => columnErrors(column, `${path}[${index}]`)),
    ),
    ...each(versions, 'selectableFields', 'spec.selectableFields', (version, path) =>
      selectableErrors(version.selectableFields ?? [], version.schema?.openAPIV3Schema, path),
    ),
  ];
}

/** Checks a field once where all versions have the same, else version by version. */
function each(
  versions: readonly DefinitionVersion[],
  field: Shared,
  shared: string,
  check: (version: DefinitionVersion, path: string) => readonly FieldError[],
): readonly FieldError[] {
  const [first] = versions;
  if (first !== undefined && isShared(versions, field)) return check(first, shared);
  return versions.flatMap((version, index) => check(version, `spec.versions[${index}].${field}`));
}

function isShared(versions: readonly DefinitionVersion[], field: Shared): boolean {
  return versions.every((version) => sameValue(version[field], versions[0]?.[field]));
}

/** Whether a status subresource restricts the schema: that of the version, or, for a shared schema, of any. */
function hasStatus(version: DefinitionVersion, versions: readonly DefinitionVersion[]): boolean {
  const relevant = isShared(versions, 'schema') ? versions : [version];
  return relevant.some(({ subresources }) => subresources?.status !== undefined);
}

function nameErrors({ name, deprecated, deprecationWarning }: DefinitionVersion, path: string): readonly FieldError[] {
  return [
    ...labelErrors(name, `${path}.name`),
    ...(deprecationWarning === undefined ? [] : warningProblems(deprecationWarning, deprecated === true)).map((problem) =>
      invalidValue(`${path}.deprecationWarning`, deprecationWarning, problem),
    ),
  ];
}

function labelErrors(name: string, field: string): readonly FieldError[] {
  const problems = dns1035LabelProblems(name);
  return problems.length === 0 ? [] : [invalidValue(field, name, problems.join(','))];
}

function warningProblems(warning: string, deprecated: boolean): readonly string[] {
  if (!deprecated) return ['can only be set for deprecated versions'];
  const odd = Array.from(warning).find((char) => !isGoPrintable(char));
  const at = odd === undefined ? -1 : Buffer.byteLength(warning.slice(0, warning.indexOf(odd)));
  return [
    ...(Buffer.byteLength(warning) > 256 ? ['must be <= 256 characters long'] : []),
    ...(warning === '' ? ['must not be an empty string'] : []),
    ...(at === -1 ? [] : [`must only contain printable UTF-8 characters; non-printable character found at index ${at}`]),
  ];
}

function missingSchema({ schema }: DefinitionVersion, index: number): readonly FieldError[] {
  return schema?.openAPIV3Schema === undefined ? [requiredValue(`spec.versions[${index}].schema.openAPIV3Schema`)] : [];
}

/** A version as Go's internal struct prints it, what versions share taken away. */
function structOf({ name, served = false, storage = false, deprecated = false, deprecationWarning }: DefinitionVersion): object {
  return {
    Name: name,
    Served: served,
    Storage: storage,
    Deprecated: deprecated,
    DeprecationWarning: deprecationWarning ?? null,
    Schema: null,
    Subresources: null,
    AdditionalPrinterColumns: null,
    SelectableFields: null,
  };
}

/** What is wrong with the versions in which objects may be stored. */
export function storageErrors(stored: readonly string[], versions: readonly DefinitionVersion[]): readonly FieldError[] {
  const field = 'status.storedVersions';
  if (stored.length === 0) return [invalidValue(field, null, 'must have at least one stored version')];
  // Each stored version answers for one version of its name.
  const missing = versions.filter(
    ({ name, storage }, index) => storage && (!stored.includes(name) || versions.findIndex((other) => other.name === name) < index),
  );
  const names = new Set(versions.map(({ name }) => name));
  return [
    ...missing.map(({ name }) => invalidValue(field, stored, `must have the storage version ${name}`)),
    ...stored.flatMap((name, index) =>
      names.has(name)
        ? []
        : [
            invalidValue(
              `${field}[${index}]`,
              name,
              `missing from spec.versions; ${name} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in ${name} and removes ${name} from status.storedVersions`,
            ),
          ],
    ),
  ];
}
