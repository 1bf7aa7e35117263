/** What differs between surfaces: how a caller is recognised, whether requests count, and how a refusal looks. */
import type { Caller } from "../../kernel/caller.ts";
import type { Problem } from "../../kernel/problem.ts";
import type { Refused } from "./refusal.ts";
import type { Request } from "./reply.ts";

/** Where a request says who sends it. */
export type Credentials = Pick<Request, "headers" | "url" | "socket">;

export interface Surface {
  name: string;
  /** Throws, now or later, where nobody is recognised. */
  authenticate(request: Credentials): Caller | Promise<Caller>;
  /** Whether requests count against the user's rate limits and answers carry their headers. */
  limited: boolean;
  /** Whether a body must say that it is JSON; 415 otherwise. */
  strictMediaType: boolean;
  refusal(problem: Problem): Refused;
  /** What every answer carries, refusals to strangers included. */
  headers?: (request: Request) => Record<string, string>;
  /** What answers say to the browser of a page of that origin; absent where no page may call. */
  crossOrigin?: ((origin: string | undefined) => Record<string, string>) | undefined;
  /** Whether each request is worth a line in the log. */
  logged: boolean;
}
