/** A call of an endpoint: who asks for what, and what is done for it. */
import type { Submitter } from "../../jobs/engine.ts";
import type { Caller } from "../../kernel/caller.ts";
import type { RawOperations } from "../../kernel/raw-operation.ts";
import type { Guest } from "../../resources/public-endpoints/service.ts";
import type { Params, Reply, Request } from "../http/reply.ts";
import type { RequestMemory } from "../http/request-memory.ts";

export interface Asked {
  caller: Caller;
  endpoint: { id: string; release: number; executionTimeoutMs: number; isShared: boolean };
  /** Present for a caller of another account, to whom the endpoint is shared. */
  guest?: Guest | undefined;
  job: string;
  request: Request;
  reply: Reply;
  params: Params;
  memory: RequestMemory;
}

/** The function that does each operation. */
export type Works<Ops extends RawOperations> = Record<keyof Ops, (asked: Asked) => Promise<unknown>>;

/** Whose turn a job of a shared endpoint is, and what it pays. */
export const submitterOf = ({ caller, guest }: Pick<Asked, "caller" | "guest">): Submitter => ({
  account: caller.account,
  ...(guest && { fare: guest.fare }),
});
