/** A path of invocation: how it is asked for, by whom, and what is done then. */
import type { Caller } from "../../kernel/caller.ts";
import type { Method } from "../../kernel/operation.ts";
import type { Scope } from "../../kernel/scope.ts";
import type { Params, Reply, Request } from "../http/reply.ts";
import type { RequestRoom } from "../http/request-room.ts";

export interface Asked {
  caller: Caller;
  endpoint: { id: string; release: number; executionTimeoutMs: number };
  job: string;
  request: Request;
  reply: Reply;
  params: Params;
  room: RequestRoom;
}

export interface Route {
  methods: Method[];
  path: string;
  scope: Scope;
  work: (asked: Asked) => Promise<unknown>;
}
