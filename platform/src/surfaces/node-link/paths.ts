/** The paths by which one node asks another about an instance: for a connection, its log, a port, or one more program. */
import { parseJsonText } from "../../kernel/json.ts";
import { oneOf, t } from "../../kernel/schema.ts";
import { assertValid } from "../../kernel/validate.ts";
import type { LoopbackTarget } from "../../ports/compute/loopback.ts";
import { logSources, type Query } from "../../ports/logs/logs.ts";

/** A connection that the other node's balancer counts, or a log. */
export interface Asked {
  node: string;
  instance: string;
  /** What the instance runs for. The request must say it, since an instance that has ended has no record. */
  owner: string;
  what: "connection" | "log";
  query?: URLSearchParams;
}

/** Takes the place of the owner when the log of a Pod is asked for by the Pod's id. No endpoint has this id. */
export const POD = "pod";

/** The protocol that a connection to a worker is upgraded to. What follows is the worker's own protocol. */
export const TUNNEL = "millrace-worker";

/** The protocols that a connection to an instance is upgraded to: for a port, that port's own; for a program, that of `exec-wire.ts`. */
export const PROTOCOLS = { port: "millrace-port", loopback: "millrace-loopback", exec: "millrace-exec" } as const;

const NAME = "([\\w-]{1,100})";
const PATH = new RegExp(`^/nodes/${NAME}/instances/${NAME}/(connection|log)/of/${NAME}(?:\\?(.*))?$`);

export function pathOf({ node, instance, owner, what, query }: Asked): string {
  const search = query?.size ? `?${query}` : "";
  return `/nodes/${node}/instances/${instance}/${what}/of/${owner}${search}`;
}

export function askedBy(url: string): Asked | undefined {
  // Most requests end here.
  if (!url.startsWith("/nodes/")) return undefined;
  const [, node, instance, what, owner, query] = PATH.exec(url) ?? [];
  if (!node || !instance || !owner) return undefined;
  return { node, instance, owner, what: what as Asked["what"], query: new URLSearchParams(query) };
}

/** Asks for a connection to a port or the loopback of an instance, or for one more program in it. */
export type InstanceAsked = { node: string; instance: string } & (
  | { what: "port"; port: number }
  | ({ what: "loopback" } & LoopbackTarget)
  | { what: "exec" }
);

/** The driver decides whether this is an address of a loopback. */
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

/** Asks for a copy of a model: for the list of its files, or for one of them. */
export interface ModelAsked {
  node: string;
  model: string;
  /** The machine that has the copy, or the sign for shared storage. */
  machine: string;
  file?: { revision: string; path: string };
}

const MODEL_PATH = new RegExp(`^/nodes/${NAME}/models/${NAME}/at/${NAME}(?:\\?(.*))?$`);

export function modelPathOf({ node, model, machine, file }: ModelAsked): string {
  const query = file ? `?${new URLSearchParams(file)}` : "";
  return `/nodes/${node}/models/${model}/at/${machine}${query}`;
}

export function modelAskedBy(url: string): ModelAsked | undefined {
  if (!url.startsWith("/nodes/")) return undefined;
  const [, node, model, machine, search] = MODEL_PATH.exec(url) ?? [];
  if (!node || !model || !machine) return undefined;
  const query = new URLSearchParams(search);
  const [revision, path] = [query.get("revision"), query.get("path")];
  return { node, model, machine, ...(revision && path && { file: { revision, path } }) };
}

const place = t.Union([
  t.Object({ tail: t.Integer({ minimum: 0 }) }),
  t.Object({ since: t.Number() }),
  t.Object({ after: t.Object({ ts: t.Number(), sequence: t.Optional(t.Integer()) }) }),
]);
const logQuery = t.Object({ from: place, source: t.Optional(oneOf(logSources)), endsNow: t.Optional(t.Boolean()) });

/** Reads from the query where in a log to begin. */
export function logQueryIn(query = new URLSearchParams()): Query {
  return assertValid(logQuery, parseJsonText(query.get("from") ?? "{}")) as Query;
}
