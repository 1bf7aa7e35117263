/** A PostgreSQL that no server can use is refused before anything is written, with the reason and what to do. */
import { Client } from "pg";
import { expect, inject, test } from "vitest";
import { freshDatabase } from "../../../tests/database.ts";
import { launcher, run, temporaryFolder } from "../../../tests/process.ts";
import { realClock } from "../../kernel/clock.ts";
import { lookAtPostgres, refuseUnfit, unfitness } from "./look.ts";

const fit = { version: "18.1", major: 18, encoding: "UTF8", isReadOnly: false };

async function asSuperuser(...statements: string[]): Promise<void> {
  const client = new Client({ connectionString: inject("postgresUrl") });
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}

test("an older release, a replica and an encoding without all characters are unfit", () => {
  expect(unfitness(fit)).toBeUndefined();
  expect(unfitness({ ...fit, encoding: "SQL_ASCII" })).toBeUndefined();
  expect(unfitness({ ...fit, version: "13.4", major: 13 })).toEqual({
    why: "PostgreSQL 13.4 is too old",
    help: "upgrade it to 14 or later",
  });
  expect(unfitness({ ...fit, isReadOnly: true })!.why).toBe("it is read-only, as a replica is");
  expect(unfitness({ ...fit, encoding: "LATIN1" })!.why).toBe("its encoding LATIN1 cannot store every character");
});

test("a database for servers is fit", async () => {
  await using database = await freshDatabase();
  await refuseUnfit(database.url, realClock, {});
  expect(await lookAtPostgres(database.url, realClock, {})).toMatchObject({ encoding: "UTF8", isReadOnly: false });
});

test("a start on a database in LATIN1, and on a read-only one, is refused with what to do", async () => {
  await using folder = await temporaryFolder();
  const url = new URL(inject("postgresUrl"));
  url.pathname = "/latin";
  const refusal = async () => {
    const args = ["serve", "--data", folder.path, "--port", "0", "--compute", "none"];
    const { code, stderr } = await run(launcher, args, { env: { MILLRACE_DATABASE_URL: url.href } });
    expect(code).toBe(1);
    return stderr;
  };
  await asSuperuser("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0");
  try {
    expect(await refusal()).toContain(
      "cannot be used: its encoding LATIN1 cannot store every character: make a database with 'createdb --encoding UTF8",
    );
    await asSuperuser("ALTER DATABASE latin SET default_transaction_read_only = on");
    expect(await refusal()).toContain("cannot be used: it is read-only, as a replica is: name the primary in ");
    await asSuperuser("ALTER DATABASE latin CONNECTION LIMIT 0", "CREATE ROLE few LOGIN PASSWORD 'few'");
    url.username = url.password = "few";
    expect(await refusal()).toContain("cannot be used: it has no connection left: raise max_connections");
  } finally {
    await asSuperuser("DROP DATABASE latin", "DROP ROLE IF EXISTS few");
  }
});
