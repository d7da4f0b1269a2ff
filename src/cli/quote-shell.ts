// Formats parts of commands that users copy into a shell.

/** Quotes a word for a POSIX shell; returns a word without special characters unchanged. */
export function quoteShell(word: string): string {
  return PLAIN_WORD.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** How the user selected a cluster. */
export interface ClusterChoice {
  /** Name of the context; undefined for the current context. */
  readonly context: string | undefined;
  /** Value of `--kubeconfig`; undefined if it is not set. */
  readonly kubeconfig?: string | undefined;
}

/** Returns the options that select a cluster in a command, each with a space; empty for the current context of the default kubeconfig. */
export function formatContextOption({ context, kubeconfig }: ClusterChoice): string {
  const file = kubeconfig === undefined ? '' : `--kubeconfig ${quoteShell(kubeconfig)} `;
  return `${file}${context === undefined ? '' : `--context ${quoteShell(context)} `}`;
}

/** Returns the option that selects the hub in a command that also selects a target cluster, and a space; empty for the current context. */
export function formatHubContextOption({ context }: Pick<ClusterChoice, 'context'>): string {
  return context === undefined ? '' : `--hub-context ${quoteShell(context)} `;
}

/** Matches a word without special characters. A leading `=` is special, because zsh expands it. */
const PLAIN_WORD = /^[\w%+,./:@-][\w%+,./:=@-]*$/;
