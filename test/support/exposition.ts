// A strict reader of Prometheus' text format: whatever a scrape would refuse, or take for something else, throws.

/** The samples of one name, by what `labelsKey` makes of their labels. */
export interface Metric {
  readonly type: string;
  readonly samples: ReadonlyMap<string, number>;
}

/** Reads a text. Those of a histogram are under its own name, with the name that each has as the label `__name__`. */
export function parseExposition(text: string): ReadonlyMap<string, Metric> {
  if (!text.endsWith('\n')) throw new Error('the last line does not end');
  const families = new Map<string, Family>();
  const helps = new Set<string>();
  for (const line of text.split('\n').filter((each) => each !== '')) {
    const help = HELP.exec(line)?.groups?.['name'];
    const type = TYPE.exec(line)?.groups;
    if (help !== undefined) helps.add(help);
    else if (type !== undefined) openFamily(type as { name: string; type: string }, helps, families);
    else addSample(line, [...families.values()].at(-1));
  }
  return families;
}

/** What samples are looked up by. */
export function labelsKey(labels: string | Readonly<Record<string, string>>): string {
  const pairs = typeof labels === 'string' ? parseLabels(labels) : Object.entries(labels);
  return JSON.stringify(pairs.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

interface Family {
  readonly name: string;
  readonly type: string;
  readonly samples: Map<string, number>;
}

const METRIC = '(?<name>[a-zA-Z_:][a-zA-Z0-9_:]*)';
const HELP = new RegExp(`^# HELP ${METRIC} .+$`);
const TYPE = new RegExp(`^# TYPE ${METRIC} (?<type>counter|gauge|histogram|summary|untyped)$`);
const VALUE = '(?<value>[-+]?(?:\\d+(?:\\.\\d+)?(?:e[-+]?\\d+)?|inf)|nan)';
const SAMPLE = new RegExp(`^${METRIC}(?:\\{(?<labels>.*)\\})? ${VALUE}$`, 'i');
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(?:,|$)/y;
/** What may follow the name of the family in the names of its samples. */
const SUFFIXES: Readonly<Record<string, RegExp>> = { histogram: /^_(bucket|sum|count)$/, summary: /^(|_sum|_count)$/ };

function openFamily({ name, type }: { name: string; type: string }, helps: ReadonlySet<string>, families: Map<string, Family>): void {
  if (families.has(name)) throw new Error(`${name} comes twice`);
  if (!helps.has(name)) throw new Error(`${name} has no help`);
  if (type === 'counter' && !name.endsWith('_total')) throw new Error(`${name} is a counter without _total`);
  families.set(name, { name, type, samples: new Map() });
}

function addSample(line: string, family: Family | undefined): void {
  const { name = '', labels = '', value = '' } = SAMPLE.exec(line)?.groups ?? {};
  if (name === '' || family === undefined) throw new Error(`not a sample: ${line}`);
  if (!isOf(name, family)) throw new Error(`${name} stands among the samples of ${family.name}`);
  const key = labelsKey(name === family.name ? labels : [labels, `__name__="${name}"`].filter(Boolean).join(','));
  if (family.samples.has(key)) throw new Error(`${name}${key} comes twice`);
  family.samples.set(key, Number(value.replace(/inf$/i, 'Infinity')));
}

function isOf(name: string, family: Family): boolean {
  return name.startsWith(family.name) && (SUFFIXES[family.type] ?? /^$/).test(name.slice(family.name.length));
}

function parseLabels(text: string): readonly (readonly [string, string])[] {
  const pairs: [string, string][] = [];
  for (let at = 0; at < text.length; at = LABEL.lastIndex) {
    LABEL.lastIndex = at;
    const [, name, value] = LABEL.exec(text) ?? [];
    if (name === undefined || value === undefined) throw new Error(`not labels: ${text}`);
    if (pairs.some(([other]) => other === name)) throw new Error(`${name} comes twice in ${text}`);
    pairs.push([name, value.replaceAll(/\\([\\"n])/g, (_, character: string) => (character === 'n' ? '\n' : character))]);
  }
  return pairs;
}
