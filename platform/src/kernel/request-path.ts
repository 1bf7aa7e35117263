/** Makes the path of a request from an operation's path: its parameters filled in, its query behind it. */

/** One call of an operation, as data. */
export interface Ask {
  params?: Record<string, string> | undefined;
  query?: Record<string, unknown> | undefined;
  body?: unknown;
}

/** A query value that is absent, null or an empty text is left out. */
export function requestPath(path: string, { params = {}, query = {} }: Ask): string {
  const filled = path.replace(/\{(\w+)\*?\}/g, (_, key: string) => encodeURIComponent(params[key] ?? ""));
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== "") search.set(key, String(value));
  }
  return search.size > 0 ? `${filled}?${search}` : filled;
}
