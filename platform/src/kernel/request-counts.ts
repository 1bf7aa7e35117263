/** Counts answered requests by route, method and status. Callers choose none of these freely, so the counts stay few. */
import { STATUS_CODES } from "node:http";
import { Durations, REQUEST_BOUNDS_MS } from "./durations.ts";

const METHODS: ReadonlySet<string> = new Set(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]);
/** A method that no route has. */
const OTHER = "other";

/** The client left before its answer began. */
const UNANSWERED = "none";
/** A status that HTTP does not name. Programs of load-balanced endpoints and Pods can answer with any. */
const UNNAMED = "other";
const STATUSES = [UNANSWERED, UNNAMED, ...Object.keys(STATUS_CODES)];
const HIGHEST_STATUS = 599;
/** The place of each status in `STATUSES`. */
const PLACES = new Uint8Array(HIGHEST_STATUS + 1).fill(STATUSES.indexOf(UNNAMED));
for (const [place, status] of STATUSES.entries()) if (Number(status) <= HIGHEST_STATUS) PLACES[Number(status)] = place;
PLACES[0] = STATUSES.indexOf(UNANSWERED);

export interface CountedRequests {
  method: string;
  route: string;
  statuses: readonly (readonly [status: string, count: number])[];
  durations: Durations;
}

class MethodCounts {
  readonly #byStatus = new Float64Array(STATUSES.length);
  readonly durations = new Durations(REQUEST_BOUNDS_MS);

  note(status: number, ms: number): void {
    this.#byStatus[status <= HIGHEST_STATUS ? PLACES[status]! : PLACES[1]!]!++;
    this.durations.note(ms);
  }

  statuses(): [string, number][] {
    return STATUSES.flatMap((status, place) => {
      const count = this.#byStatus[place]!;
      return count > 0 ? [[status, count] as [string, number]] : [];
    });
  }
}

/** The counts of one route. */
export class RouteCounts {
  readonly route: string;
  readonly #methods = new Map<string, MethodCounts>();

  constructor(route: string) {
    this.route = route;
  }

  /** `status` is 0 for a request whose client left before its answer began. */
  note(method: string, status: number, ms: number): void {
    (this.#methods.get(method) ?? this.#new(method)).note(status, ms);
  }

  all(): CountedRequests[] {
    const { route } = this;
    return [...this.#methods].map(([method, counts]) => ({
      ...{ method, route, statuses: counts.statuses(), durations: counts.durations },
    }));
  }

  #new(given: string): MethodCounts {
    const method = METHODS.has(given) ? given : OTHER;
    const counts = this.#methods.get(method) ?? new MethodCounts();
    this.#methods.set(method, counts);
    return counts;
  }
}

/** A response that knows what it is counted as, and since when it is under way. */
export interface CountedResponse {
  counts?: RouteCounts | undefined;
  beganMs?: number;
}

export class RequestCounts {
  readonly #routes = new Map<string, RouteCounts>();

  /** `route` must be a path as the program declares it, or a word of the program: a path that a caller chose would be a new series. */
  of(route: string): RouteCounts {
    const known = this.#routes.get(route);
    if (known) return known;
    const made = new RouteCounts(route);
    this.#routes.set(route, made);
    return made;
  }

  all(): CountedRequests[] {
    return [...this.#routes.values()].flatMap((route) => route.all());
  }
}
