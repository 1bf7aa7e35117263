/** What the audit log says about an operation: who did what to what, and from where. It has names of sent fields, never values. */
import type { Caller } from "../kernel/caller.ts";
import type { Operation } from "../kernel/operation.ts";
import type { Actor } from "../resources/audit/model.ts";
import type { AuditLog, Deed } from "../resources/audit/service.ts";

/** The audit log for an operation, and what is known about the caller other than who it is. */
export interface Auditing {
  audit: Pick<AuditLog, "record" | "refused">;
  /** The operation's name. */
  name: string;
  address?: string | undefined;
  userAgent?: string | undefined;
}

/** The actor for callers without a key. */
export const COMMAND_LINE = "command-line";

export const isChange = ({ method }: Pick<Operation, "method">) => method !== "GET";

/** Whether the operation sets a state that may already be so. */
export const isUpdate = ({ method, path }: Pick<Operation, "method" | "path">) =>
  method === "PATCH" || method === "PUT" || path.endsWith("/update");

export function deedOf(
  { path, resource }: Pick<Operation, "path" | "resource">,
  caller: Caller,
  params: Record<string, string>,
  { name: operation, address, userAgent }: Auditing,
): Deed {
  const id = params.id ?? Object.values(params)[0];
  return {
    account: caller.account,
    actor: actorOf(caller),
    operation,
    resource: { type: resource ?? wordOf(path), ...(id !== undefined && { id }) },
    address,
    userAgent,
  };
}

function actorOf({ key, keyName, pod, workerOf, person, user }: Caller): Actor {
  if (key === COMMAND_LINE) return { type: "cli" };
  if (person) return { type: "person", id: user, name: person.email };
  if (pod !== undefined) return { type: "pod", id: pod };
  if (workerOf !== undefined) return { type: "worker", id: workerOf };
  return { type: "key", id: key, ...(keyName !== undefined && { name: keyName }) };
}

/** A resource's name in paths: the last word before an id, or the last of all. */
function wordOf(path: string): string {
  const before = path.split("/{", 1)[0]!;
  // A path below an endpoint's id has no resource name before it.
  return before === "/v2" ? "serverless" : before.split("/").at(-1)!;
}

/** Only names of fields are kept. The action of a resource is a word of the contract, so it is kept too. */
export function sentIn({ path }: Pick<Operation, "path">, body: unknown): Pick<Deed, "fields" | "action"> {
  if (typeof body !== "object" || body === null || Array.isArray(body)) return {};
  const { action } = body as { action?: unknown };
  const isMove = path.endsWith("/action") && typeof action === "string";
  const sent = Object.entries(body).filter(([, value]) => value !== undefined);
  return { fields: sent.map(([name]) => name), ...(isMove && { action }) };
}

/** If an operation creates something and its path names nothing, its answer tells what it created. */
export function madeBy({
  method,
  path,
}: Pick<Operation, "method" | "path">): ((answer: unknown) => string | undefined) | undefined {
  if (method !== "POST" || path.includes("{")) return undefined;
  return (answer) => {
    const { id } = (answer ?? {}) as { id?: unknown };
    return typeof id === "string" ? id : undefined;
  };
}
