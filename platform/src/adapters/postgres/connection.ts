/** What all connections to PostgreSQL share: time limits, so that neither side waits for ever. */
import { Socket } from "node:net";
import { Client, type ClientBase, type ClientConfig, DatabaseError } from "pg";
import { every } from "../../kernel/background.ts";
import { type Clock, realClock } from "../../kernel/clock.ts";
import { floating } from "../../kernel/floating.ts";

/** How long one statement may take, unless the operator sets another limit. */
const ANSWER_MS = 10_000;
/**
 * PostgreSQL reports a statement that passes its limit. If nothing arrives for this multiple of the limit, the server is silent, as behind
 * a network that drops everything.
 */
const SILENT_AFTER = 1.2;
/** A connection that is being closed and gets no answer is cut after this time. */
const LAST_WORDS_MS = 2_000;
/** How soon TCP keep-alives begin, and after which time an end that does not answer them is given up. */
const KEEP_ALIVE_MS = 10_000;
const GIVEN_UP = { tcp_keepalives_idle: "30", tcp_keepalives_interval: "10", tcp_keepalives_count: "3" };

export interface Patience {
  /** The longest time that a statement may take. */
  answerMs?: number;
}

interface Kind extends Patience {
  name: string;
  /** PostgreSQL settings for the connection. */
  settings?: Record<string, string>;
}

/** The configuration of connections of one kind, and the sockets that they have open. */
export function connectionsTo(url: string, { name, settings = {}, answerMs = ANSWER_MS }: Kind) {
  const sockets = new Set<Socket>();
  const limits = {
    // All transactions that wait for a statement's locks wait as long as it does, so each statement has a limit.
    statement_timeout: String(answerMs),
    idle_in_transaction_session_timeout: String(3 * answerMs),
    ...GIVEN_UP,
  };
  const config = {
    connectionString: url,
    application_name: name,
    connectionTimeoutMillis: answerMs,
    query_timeout: answerMs * SILENT_AFTER,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    stream: () => {
      const socket = new Socket();
      sockets.add(socket.once("close", () => sockets.delete(socket)));
      return socket;
    },
  } satisfies ClientConfig;
  /** Closes the connection properly if PostgreSQL still answers, and cuts it otherwise. */
  async function endBy(end: () => Promise<void>): Promise<void> {
    const cut = realClock.after(LAST_WORDS_MS, () => {
      for (const socket of sockets) socket.destroy();
    });
    await end();
    cut.cancel();
  }
  /** Sets what every statement of a connection needs. It is no startup option, because PgBouncer refuses those. */
  const prepare = async (client: ClientBase): Promise<void> => {
    const set = Object.entries({ ...limits, ...settings }).map(([name, value]) => `SET ${name} = '${value}'`);
    await client.query(set.join("; "));
  };
  return { config, sockets, prepare, endBy };
}

/** Whether PostgreSQL itself reported the error, so that the connection still works. Any other error concerns the connection. */
export const isItsWord = (error: unknown): error is DatabaseError => error instanceof DatabaseError;

/** A connection of the caller's own, for as long as it answers. */
export interface OwnConnection extends AsyncDisposable {
  /** Resolves when the connection has ended, for whatever reason. */
  ended: Promise<void>;
  query(text: string | { name: string; text: string }, values?: unknown[]): Promise<unknown[]>;
}

/** The connection is idle for long stretches, and without this check nobody would notice that it is dead. */
const LOOK_EVERY_MS = 10_000;

export interface ConnectionParts extends Kind {
  clock: Clock;
  heard?: (payload: string) => void;
  /** Asks something now and then, instead of nothing in particular. */
  check?: (query: OwnConnection["query"]) => Promise<void>;
}

export async function openConnection(url: string, kind: ConnectionParts): Promise<OwnConnection> {
  const { config, sockets, prepare, endBy } = connectionsTo(url, kind);
  const client = new Client(config);
  client.on("error", () => {});
  client.on("notification", ({ payload }) => kind.heard?.(payload ?? ""));
  const ended = new Promise<void>((resolve) => client.once("end", resolve));
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  async function query(statement: string | { name: string; text: string }, values?: unknown[]): Promise<unknown[]> {
    const asked = typeof statement === "string" ? { text: statement } : statement;
    try {
      return (await client.query({ ...asked, ...(values ? { values } : {}) })).rows;
    } catch (error) {
      if (!isItsWord(error)) cut();
      throw error;
    }
  }
  try {
    await client.connect();
    await prepare(client);
  } catch (error) {
    cut();
    throw error;
  }
  const looking = every(
    kind.clock,
    { name: "see that PostgreSQL answers", everyMs: LOOK_EVERY_MS },
    async () => void (await (kind.check ? kind.check(query) : query("SELECT 1"))),
    () => {},
  );
  floating(
    ended.then(() => looking[Symbol.asyncDispose]()),
    () => {},
  );
  return { ended, query, [Symbol.asyncDispose]: () => endBy(() => client.end()) };
}
