/** Lets a key that reads the metrics go on reading them while the database is away. No key can be looked up then, and nothing says more. */
import type { Caller } from "../../kernel/caller.ts";
import type { Clock } from "../../kernel/clock.ts";
import { keyDigest } from "../../kernel/ids.ts";
import { isProblem } from "../../kernel/problem.ts";
import { within } from "../../kernel/wait.ts";
import type { Credentials, Surface } from "../http/surface.ts";

interface ScraperParts {
  authenticate: Surface["authenticate"];
  clock: Clock;
}

/** A database that is silent for longer counts as away. Prometheus gives up after 10 s, and the figures may take 5 s of them. */
const PATIENCE_MS = 2000;
/** A key that was last used before may have been revoked since. */
const KNOWN_FOR_MS = 600_000;
const MOST = 16;

export class Scrapers {
  readonly #parts: ScraperParts;
  /** Callers who may read the metrics, by the digest of what they sent, the one who read last at the end. */
  readonly #known = new Map<string, { caller: Caller; atMs: number }>();

  constructor(parts: ScraperParts) {
    this.#parts = parts;
  }

  /** Whether this caller was let in before, so that nothing has to be read to know what it may do. */
  has(caller: Caller): boolean {
    return this.#known.values().some((known) => known.caller === caller);
  }

  /** Remembers a caller who may read the metrics. */
  note(request: Credentials, caller: Caller): void {
    const name = nameOf(request);
    if (name === undefined) return;
    this.#known.delete(name);
    this.#known.set(name, { caller, atMs: this.#parts.clock.monotonic() });
    if (this.#known.size > MOST) this.#known.delete(this.#known.keys().next().value!);
  }

  authenticate(request: Credentials): Caller | Promise<Caller> {
    const name = nameOf(request);
    const known = name === undefined ? undefined : this.#lately(name);
    return known ? this.#lookUp(request, name!, known) : this.#parts.authenticate(request);
  }

  async #lookUp(request: Credentials, name: string, known: Caller): Promise<Caller> {
    let found: Caller | undefined;
    let refusal: unknown;
    const look = async () => {
      found = await this.#parts.authenticate(request);
    };
    const asking = look().catch((error: unknown) => {
      refusal = error;
    });
    await within(this.#parts.clock, PATIENCE_MS, asking);
    if (found) return found;
    if (refusal === undefined || isProblem(refusal, "unavailable")) return known;
    this.#known.delete(name);
    throw refusal;
  }

  #lately(name: string): Caller | undefined {
    const { clock } = this.#parts;
    const known = this.#known.get(name);
    if (!known || clock.monotonic() - known.atMs > KNOWN_FOR_MS) return undefined;
    const { expiresAt } = known.caller;
    return expiresAt === undefined || expiresAt > clock.now() ? known.caller : undefined;
  }
}

const nameOf = ({ headers }: Credentials) => headers.authorization && keyDigest(headers.authorization);
