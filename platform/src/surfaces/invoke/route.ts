/** A call of an endpoint: who asks for what, and what is done for it. */
import type { Caller } from "../../kernel/caller.ts";
import type { RawOperations } from "../../kernel/raw-operation.ts";
import type { Params, Reply, Request } from "../http/reply.ts";
import type { RequestMemory } from "../http/request-memory.ts";

export interface Asked {
  caller: Caller;
  endpoint: { id: string; release: number; executionTimeoutMs: number };
  job: string;
  request: Request;
  reply: Reply;
  params: Params;
  memory: RequestMemory;
}

/** The function that does each operation. */
export type Works<Ops extends RawOperations> = Record<keyof Ops, (asked: Asked) => Promise<unknown>>;
