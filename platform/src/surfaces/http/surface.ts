/** The differences between surfaces: how they recognise a caller, whether requests count, and how a refusal looks. */
import type { Caller } from "../../kernel/caller.ts";
import type { Browser } from "../../kernel/operation.ts";
import type { Problem } from "../../kernel/problem.ts";
import type { Refused } from "./refusal.ts";
import type { Reply, Request } from "./reply.ts";

/** The parts of a request that say who sends it. */
export type Credentials = Pick<Request, "headers" | "url" | "socket" | "method">;

export interface Surface {
  name: string;
  /** Throws, or rejects, if it recognises no one. */
  authenticate(request: Credentials): Caller | Promise<Caller>;
  /** Whether requests count against the user's rate limits and answers carry the headers for them. */
  limited: boolean;
  /** Whether a body must be declared as JSON; if not, it gets a 415. */
  strictMediaType: boolean;
  refusal(problem: Problem): Refused;
  /** Headers that every answer carries, even refusals to strangers. */
  headers?: (request: Request) => Record<string, string>;
  /** The browser behind a request, for operations by which sessions begin and end. */
  browser?: (request: Request, reply: Reply) => Browser;
  /** Headers for the browser of a page from that origin; absent if no page may call this surface. */
  crossOrigin?: ((origin: string | undefined) => Record<string, string>) | undefined;
  /** Whether each request gets a line in the log. */
  logged: boolean;
}
