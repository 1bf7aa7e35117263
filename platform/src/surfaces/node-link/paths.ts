/** What one node asks of another: a connection to a worker of its machine, or a worker's log. */

export interface Asked {
  machine: string;
  endpoint: string;
  worker: string;
  what: "connection" | "log";
  query: URLSearchParams;
}

/** The protocol to which a connection to a worker is upgraded: the worker's own, whatever that is. */
export const TUNNEL = "millrace-worker";

const NAME = "([\\w-]{1,100})";
const PATH = new RegExp(`^/nodes/${NAME}/endpoints/${NAME}/workers/${NAME}/(connection|log)(?:\\?(.*))?$`);

export function pathOf({ machine, endpoint, worker, what, query }: Asked): string {
  const search = query.size > 0 ? `?${query}` : "";
  return `/nodes/${machine}/endpoints/${endpoint}/workers/${worker}/${what}${search}`;
}

export function askedBy(url: string): Asked | undefined {
  // By far most requests end here.
  if (!url.startsWith("/nodes/")) return undefined;
  const [, machine, endpoint, worker, what, query] = PATH.exec(url) ?? [];
  if (!machine || !endpoint || !worker) return undefined;
  return { machine, endpoint, worker, what: what as Asked["what"], query: new URLSearchParams(query) };
}
