/** What a person reads when PostgreSQL and the server do not agree on TLS. */
import { expect, test } from "vitest";
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
