/** What a person reads when PostgreSQL cannot be used. */
import { expect, test } from "vitest";
import { problem } from "../kernel/problem.ts";
import { postgresTrouble } from "./start-trouble.ts";

test.each(["The server does not support SSL connections", "self-signed certificate"])(
  "%s: the settings of TLS are named, and the password is not",
  (said) => {
    const { message } = postgresTrouble(new Error(said), "postgres://ada:hidden@db/records") as Error;
    expect(message).toBe(
      `PostgreSQL at db/records as ada cannot be used: ${said}: sslmode and sslrootcert in MILLRACE_DATABASE_URL say what is asked of its certificate, as docs/operating.md shows.`,
    );
  },
);

test.each([
  [{ code: "42P07", message: 'relation "records" already exists' }, "lacks others, as after a restore that broke off"],
  [
    { code: "42P01", message: 'relation "jobs" does not exist' },
    "restore that broke off: restore into an empty database",
  ],
])("%s: a restore that broke off is what it looks like", (error, words) => {
  expect((postgresTrouble(Object.assign(new Error(), error), "postgres://ada@db/records") as Error).message).toContain(
    words,
  );
});

test("no connection in time: the room that a server needs is named", () => {
  const cause = new Error("timeout exceeded when trying to connect");
  const { message } = postgresTrouble(problem("unavailable", "Late.", { cause }), "postgres://ada@db/records") as Error;
  expect(message).toMatch(/timeout exceeded .*: check that PostgreSQL runs there, and that it, and a pooler in front/);
});

test.each([{ message: "Connection terminated unexpectedly" }, { message: "read ECONNRESET", code: "ECONNRESET" }])(
  "$message: a database that restarts is what it looks like",
  (error) => {
    const { message } = postgresTrouble(Object.assign(new Error(), error), "postgres://ada@db/records") as Error;
    expect(message).toMatch(
      /^PostgreSQL at db\/records as ada cannot be used: it ended the connection, as when it restarts/,
    );
  },
);
