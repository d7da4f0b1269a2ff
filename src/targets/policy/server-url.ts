// Addresses of clusters, as people register them.

/** The https URL that a registered address stands for, in one spelling; undefined for what is not allowed as an address. */
export function serverUrl(serverAddress: string): string | undefined {
  if (!ADDRESS.test(serverAddress)) return undefined;
  const text = serverAddress.startsWith(SCHEME) ? serverAddress : `${SCHEME}${serverAddress}`;
  if (!URL.canParse(text)) return undefined;
  const { origin, pathname } = new URL(text);
  return `${origin}${pathname.replace(/\/+$/, '')}`;
}

const SCHEME = 'https://';
/** As the Cluster's schema has it: no user, query, fragment, escapes or dot segments. */
const ADDRESS = /^(https:\/\/)?(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?)(:[1-9][0-9]{0,4})?(\/[-\w~][-\w.~]*)*\/?$/;
