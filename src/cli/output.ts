// Output of commands: tables like kubectl's, JSON, YAML and names.

import { Document } from 'yaml';
import type { ApiObject, Resource } from '../api/resources.ts';
import { apiVersionOf } from '../kubernetes/object.ts';
import type { CommandHost } from './command.ts';
import type { OutputFormat } from './options.ts';
import { toVisibleLine } from './visible-text.ts';
import { CONTROL_CHARACTER, quoteStrings } from './yaml-quotes.ts';

export interface Column<T> {
  /** Heading in capital letters. */
  readonly name: string;
  /** True for a column of `-o wide` only. */
  readonly wide?: true;
  /** Returns the text of a cell; an empty string is printed as `<none>`. */
  readonly text: (row: T) => string;
}

/** Resource, columns and format of printed objects. */
export interface PrintOptions<T extends ApiObject> {
  readonly resource: Resource<T>;
  readonly columns: readonly Column<T>[];
  /** Format of the output; undefined for the default, a table. */
  readonly output?: OutputFormat | undefined;
}

/** Prints a list of objects in the format of `-o`; JSON and YAML output is a List. */
export function printList<T extends ApiObject>(host: CommandHost, objects: readonly T[], printing: PrintOptions<T>): void {
  const { resource, columns, output = 'table' } = printing;
  if (output === 'json' || output === 'yaml') {
    const items = objects.map((object) => toPrinted(resource, object));
    host.print(formatDocument({ apiVersion: 'v1', kind: 'List', metadata: { resourceVersion: '' }, items }, output));
  } else if (output === 'name') host.print(objects.map((object) => `${formatName(resource, object)}\n`).join(''));
  else if (objects.length === 0) host.warn('No resources found.\n');
  else host.print(formatTable(columns, objects, output === 'wide'));
}

/** Prints one object in the format of `-o`; JSON and YAML output is the object itself. */
export function printObject<T extends ApiObject>(host: CommandHost, object: T, printing: PrintOptions<T>): void {
  const { resource, output } = printing;
  if (output === 'json' || output === 'yaml') host.print(formatDocument(toPrinted(resource, object), output));
  else printList(host, [object], printing);
}

/** Returns a table with aligned columns. Replaces control characters, so that no cell can control the terminal. */
export function formatTable<T>(columns: readonly Column<T>[], rows: readonly T[], wide = false): string {
  const shown = columns.filter((column) => wide || column.wide !== true);
  const cells = [shown.map(({ name }) => name), ...rows.map((row) => shown.map(({ text }) => toCell(text(row))))];
  const widths = shown.map((_, index) => Math.max(...cells.map((line) => line[index]?.length ?? 0)) + GAP);
  return cells
    .map((line) =>
      line
        .map((cell, index) => cell.padEnd(widths[index] ?? 0))
        .join('')
        .trimEnd(),
    )
    .join('\n')
    .concat('\n');
}

/** Returns a value as JSON or YAML, with control characters escaped. Quotes words that YAML 1.1, and so kubectl, reads as another type. */
export function formatDocument(value: unknown, output: 'json' | 'yaml'): string {
  if (output === 'json') return `${escapeControls(JSON.stringify(value, null, 2), toJsonEscape)}\n`;
  const document = new Document(value, { aliasDuplicateObjects: false });
  quoteStrings(document);
  return escapeControls(document.toString({ lineWidth: 0 }), toYamlEscape);
}

function escapeControls(text: string, toEscape: (character: string) => string): string {
  return text.replace(new RegExp(CONTROL_CHARACTER, 'gu'), toEscape);
}

/** Returns the JSON escape of a character; two escapes, a surrogate pair, for a character above U+FFFF. */
function toJsonEscape(character: string): string {
  const units = Array.from({ length: character.length }, (_, index) => character.charCodeAt(index));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
}

function toYamlEscape(character: string): string {
  return `\\U${(character.codePointAt(0) ?? 0).toString(16).padStart(8, '0')}`;
}

/** Distance between two columns, in characters. */
const GAP = 3;

/** Returns a string on one line without control characters; `<none>` if it is empty. */
export function toCell(text: string): string {
  const visible = toVisibleLine(text);
  return visible === '' ? '<none>' : visible;
}

/** Returns an object with apiVersion and kind and without managedFields, as kubectl prints it. */
function toPrinted<T extends ApiObject>(resource: Resource<T>, object: T): object {
  const { managedFields: _, ...metadata } = object.metadata as T['metadata'] & { readonly managedFields?: unknown };
  return { apiVersion: apiVersionOf(resource), kind: resource.kind, ...object, metadata };
}

function formatName({ kind, group }: Resource<unknown>, { metadata }: ApiObject): string {
  const type = group === '' ? kind.toLowerCase() : `${kind.toLowerCase()}.${group}`;
  return `${type}/${metadata.name}`;
}
