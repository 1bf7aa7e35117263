/** Who works on a database: any number of servers, or one command that must be alone with it. */
import { type Clock, realClock, type Timer } from "../../kernel/clock.ts";
import { type ClockDifference, clockDifference } from "../../kernel/clock-difference.ts";
import { floating } from "../../kernel/floating.ts";
import { problem } from "../../kernel/problem.ts";
import { type ConnectionParts, type OwnConnection, openConnection, type Patience } from "./connection.ts";
import { translated } from "./pool.ts";
import { timeBy } from "./time.ts";

/** A number that nobody else uses for an advisory lock: one more than the lock for migrations. */
const PRESENCE_LOCK = "7883951835720016742";
const FIRST_RECONNECT_MS = 100;
const LAST_RECONNECT_MS = 5_000;

/** Undefined while a server is there. The database releases the lock when the process ends, however it ends. */
export async function enterAlone(url: string): Promise<AsyncDisposable | undefined> {
  return connect(url, "pg_try_advisory_lock", { clock: realClock });
}

interface Options extends Patience {
  /** Told every few seconds how far this machine's clock is from the database's, and undefined when the connection is lost. */
  compared?: (difference: ClockDifference | undefined) => void;
}

/**
 * A server's presence, held by a connection of its own. When the connection breaks, a command may have taken the database for itself and
 * the server's knowledge of the master key may be old. The server is present again only after it has checked.
 */
export class PostgresPresence implements AsyncDisposable {
  readonly #url: string;
  readonly #clock: Clock;
  readonly #patience: Patience;
  readonly #compared: (difference: ClockDifference | undefined) => void;
  #client: OwnConnection | undefined;
  #returning: () => Promise<void> = async () => {};
  #reconnectMs = FIRST_RECONNECT_MS;
  #reconnect: Timer | undefined;
  #connecting: Promise<void> = Promise.resolve();
  #closed = false;

  private constructor(url: string, clock: Clock, { compared = () => {}, ...patience }: Options) {
    this.#url = url;
    this.#clock = clock;
    this.#patience = patience;
    this.#compared = compared;
  }

  static async open(url: string, clock: Clock, options: Options = {}): Promise<PostgresPresence> {
    const presence = new PostgresPresence(url, clock, options);
    if (await presence.#enter()) return presence;
    throw new Error("the master key of this database is being rotated; start again when that has ended");
  }

  assertHeld(): void {
    if (!this.#client)
      throw problem("unavailable", "Nothing can be sealed until the database has confirmed this server's master key.");
  }

  /** Sets the check that must succeed before a lost presence is held again. */
  onReturn(look: () => Promise<void>): void {
    this.#returning = look;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    this.#reconnect?.cancel();
    await this.#connecting;
    await this.#client?.[Symbol.asyncDispose]();
  }

  async #enter(): Promise<boolean> {
    const client = await connect(this.#url, "pg_try_advisory_lock_shared", {
      clock: this.#clock,
      // The answer also shows that the connection lives, so comparing clocks costs two more short queries and no new cadence.
      check: (query) => this.#compareClocks(query),
      ...this.#patience,
    });
    if (!client) return false;
    try {
      await this.#returning();
    } catch (error) {
      await client[Symbol.asyncDispose]();
      throw error;
    }
    this.#client = client;
    this.#reconnectMs = FIRST_RECONNECT_MS;
    // The start does not wait for it. A failure ends the connection, and the next one compares again.
    floating(
      this.#compareClocks((...asked) => client.query(...asked)),
      () => {},
    );
    floating(
      client.ended.then(() => this.#lost()),
      () => {},
    );
    return true;
  }

  async #compareClocks(query: OwnConnection["query"]): Promise<void> {
    this.#compared(await clockDifference(this.#clock, () => timeBy(query)));
  }

  #lost(): void {
    this.#client = undefined;
    this.#compared(undefined);
    if (!this.#closed) this.#enterSoon();
  }

  #enterSoon(): void {
    this.#reconnect = this.#clock.after(this.#reconnectMs, () => {
      this.#reconnectMs = Math.min(this.#reconnectMs * 2, LAST_RECONNECT_MS);
      this.#connecting = this.#enter()
        .catch(() => false)
        .then((entered) => {
          if (!entered && !this.#closed) this.#enterSoon();
        });
    });
  }
}

/** A connection that holds the lock, or undefined where another lock excludes it. */
async function connect(
  url: string,
  lock: string,
  around: Patience & Pick<ConnectionParts, "clock" | "check">,
): Promise<OwnConnection | undefined> {
  const connection = await translated(openConnection(url, { name: "millrace presence", ...around }));
  try {
    const rows = await translated(connection.query(`SELECT ${lock}($1) AS held`, [PRESENCE_LOCK]));
    if ((rows as { held: boolean }[])[0]!.held) return connection;
    await connection[Symbol.asyncDispose]();
    return undefined;
  } catch (error) {
    await connection[Symbol.asyncDispose]();
    throw error;
  }
}
