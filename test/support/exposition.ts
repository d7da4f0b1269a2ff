// Strict parser of Prometheus' text format: throws on everything that a scrape would reject or misinterpret.

/** Metric with its samples by `labelsKey`. */
export interface Metric {
  readonly type: string;
  readonly samples: ReadonlyMap<string, number>;
}

/** Parses the text. Samples of a histogram are under its name, each with its own name as the label `__name__`. */
export function parseExposition(text: string): ReadonlyMap<string, Metric> {
  if (!text.endsWith('\n')) throw new Error('the last line has no newline');
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

/** Returns the key of a sample with these labels. */
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
/** Suffixes of sample names by the type of the family. */
const SUFFIXES: Readonly<Record<string, RegExp>> = { histogram: /^_(bucket|sum|count)$/, summary: /^(|_sum|_count)$/ };

function openFamily({ name, type }: { name: string; type: string }, helps: ReadonlySet<string>, families: Map<string, Family>): void {
  if (families.has(name)) throw new Error(`duplicate metric family ${name}`);
  if (!helps.has(name)) throw new Error(`metric family ${name} has no HELP`);
  if (type === 'counter' && !name.endsWith('_total')) throw new Error(`counter ${name} has no suffix _total`);
  families.set(name, { name, type, samples: new Map() });
}

function addSample(line: string, family: Family | undefined): void {
  const { name = '', labels = '', value = '' } = SAMPLE.exec(line)?.groups ?? {};
  if (name === '' || family === undefined) throw new Error(`invalid sample: ${line}`);
  if (!isOf(name, family)) throw new Error(`sample ${name} is in family ${family.name}`);
  const key = labelsKey(name === family.name ? labels : [labels, `__name__="${name}"`].filter(Boolean).join(','));
  if (family.samples.has(key)) throw new Error(`duplicate sample ${name}${key}`);
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
    if (name === undefined || value === undefined) throw new Error(`invalid labels: ${text}`);
    if (pairs.some(([other]) => other === name)) throw new Error(`duplicate label ${name} in ${text}`);
    pairs.push([name, value.replaceAll(/\\([\\"n])/g, (_, character: string) => (character === 'n' ? '\n' : character))]);
  }
  return pairs;
}
