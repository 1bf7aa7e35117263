/** What one node asks of another, of an instance on one of its machines: a connection, its log, a port, a further program. */
import { parseJsonText } from "../../kernel/json.ts";
import { oneOf, t } from "../../kernel/schema.ts";
import { assertValid } from "../../kernel/validate.ts";
import type { LoopbackTarget } from "../../ports/compute/loopback.ts";
import { logSources, type Query } from "../../ports/logs/logs.ts";

/** A connection that the balancer of the other node counts, or a log. */
export interface Asked {
  node: string;
  instance: string;
  /** What it runs for: of one that has ended there is no record that would say so. */
  owner: string;
  what: "connection" | "log";
  query?: URLSearchParams;
}

/** Instead of an owner, where the log of a Pod is asked for by the id of the Pod. No endpoint is called so. */
export const POD = "pod";

/** The protocol to which a connection to a worker is upgraded: the worker's own, whatever that is. */
export const TUNNEL = "millrace-worker";

/** The protocols to which a connection to an instance is upgraded: that of the port, whatever it is, and that of `exec-wire.ts`. */
export const PROTOCOLS = { port: "millrace-port", loopback: "millrace-loopback", exec: "millrace-exec" } as const;

const NAME = "([\\w-]{1,100})";
const PATH = new RegExp(`^/nodes/${NAME}/instances/${NAME}/(connection|log)/of/${NAME}(?:\\?(.*))?$`);

export function pathOf({ node, instance, owner, what, query }: Asked): string {
  const search = query?.size ? `?${query}` : "";
  return `/nodes/${node}/instances/${instance}/${what}/of/${owner}${search}`;
}

export function askedBy(url: string): Asked | undefined {
  // By far most requests end here.
  if (!url.startsWith("/nodes/")) return undefined;
  const [, node, instance, what, owner, query] = PATH.exec(url) ?? [];
  if (!node || !instance || !owner) return undefined;
  return { node, instance, owner, what: what as Asked["what"], query: new URLSearchParams(query) };
}

/** A connection to a port of an instance or to its loopback, or a further program in it. */
export type InstanceAsked = { node: string; instance: string } & (
  | { what: "port"; port: number }
  | ({ what: "loopback" } & LoopbackTarget)
  | { what: "exec" }
);

/** Whether it is an address of a loopback is the driver's to say. */
const HOST = "([\\da-f.:]{2,45})";
const INSTANCE_PATH = new RegExp(
  `^/nodes/${NAME}/instances/${NAME}/(?:(ports|loopback)/(\\d{1,5})(?:/at/${HOST})?|exec)$`,
);

export function instancePathOf(asked: InstanceAsked): string {
  const whole = `/nodes/${asked.node}/instances/${asked.instance}`;
  if (asked.what === "exec") return `${whole}/exec`;
  if (asked.what === "port") return `${whole}/ports/${asked.port}`;
  return `${whole}/loopback/${asked.port}${asked.host === undefined ? "" : `/at/${asked.host}`}`;
}

export function instanceAskedBy(url: string): InstanceAsked | undefined {
  if (!url.startsWith("/nodes/")) return undefined;
  const [, node, instance, way, port, host] = INSTANCE_PATH.exec(url) ?? [];
  if (!node || !instance) return undefined;
  if (way === undefined) return { node, instance, what: "exec" };
  if (way === "loopback")
    return { node, instance, what: "loopback", port: Number(port), ...(host !== undefined && { host }) };
  return host === undefined ? { node, instance, what: "port", port: Number(port) } : undefined;
}

const place = t.Union([
  t.Object({ tail: t.Integer({ minimum: 0 }) }),
  t.Object({ since: t.Number() }),
  t.Object({ after: t.Object({ ts: t.Number(), sequence: t.Optional(t.Integer()) }) }),
]);
const logQuery = t.Object({ from: place, source: t.Optional(oneOf(logSources)) });

/** Where in a log to begin, as `from` says. */
export function logQueryIn(query = new URLSearchParams()): Query {
  return assertValid(logQuery, parseJsonText(query.get("from") ?? "{}")) as Query;
}
