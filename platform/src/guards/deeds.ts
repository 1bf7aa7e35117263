/** What the audit log says of an operation: what is done to what, by whom and from where; names of what was sent, and never a value. */
import type { Caller } from "../kernel/caller.ts";
import type { Operation } from "../kernel/operation.ts";
import type { Actor } from "../resources/audit/model.ts";
import type { AuditLog, Deed } from "../resources/audit/service.ts";

/** Where an operation is written down, and what is known of whoever asks beside who it is. */
export interface Auditing {
  audit: Pick<AuditLog, "record" | "refused">;
  /** What the operation is called. */
  name: string;
  address?: string | undefined;
  userAgent?: string | undefined;
}

/** For callers that are nobody's key. */
export const COMMAND_LINE = "command-line";

export const isChange = ({ method }: Pick<Operation, "method">) => method !== "GET";

/** Whether it says what something is from then on, which it may be already. */
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

function actorOf({ key, keyName, pod, workerOf }: Caller): Actor {
  if (key === COMMAND_LINE) return { type: "cli" };
  if (pod !== undefined) return { type: "pod", id: pod };
  if (workerOf !== undefined) return { type: "worker", id: workerOf };
  return { type: "key", id: key, ...(keyName !== undefined && { name: keyName }) };
}

/** What a resource is called in paths: the last word before an id, or of all. */
function wordOf(path: string): string {
  const before = path.split("/{", 1)[0]!;
  // What comes after an endpoint's id has no word of its own before it.
  return before === "/v2" ? "serverless" : before.split("/").at(-1)!;
}

/** Names alone; but which of its moves a resource was told to make is a word of the contract. */
export function sentIn({ path }: Pick<Operation, "path">, body: unknown): Pick<Deed, "fields" | "action"> {
  if (typeof body !== "object" || body === null || Array.isArray(body)) return {};
  const { action } = body as { action?: unknown };
  const isMove = path.endsWith("/action") && typeof action === "string";
  const sent = Object.entries(body).filter(([, value]) => value !== undefined);
  return { fields: sent.map(([name]) => name), ...(isMove && { action }) };
}

/** Where an operation that makes something names nothing, what it answers with is what it made. */
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
