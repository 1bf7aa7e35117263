/** Method, path and scope of every operation: all that a call needs. The build puts in the values, so that no model is loaded for them. */
import { invokeOperations, operations } from "@millrace/platform/contract.ts";
import type { Operation } from "@millrace/platform/kernel/operation.ts";

type Call = Pick<Operation, "method" | "path" | "scope">;

const all: Record<string, Call> = { ...operations, ...invokeOperations };

export const calls: Record<string, Call> = Object.fromEntries(
  Object.entries(all).map(([name, { method, path, scope }]) => [name, { method, path, ...(scope && { scope }) }]),
);
