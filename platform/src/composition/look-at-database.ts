/** Says whether the database that the settings name can be used, and how to mend it. */
import type { Clock } from "../kernel/clock.ts";
import { type Finding, fail, ok, warn } from "../kernel/finding.ts";
import type { Settings } from "../settings/settings.ts";
import { postgresTrouble } from "./start-trouble.ts";

const PATIENCE = { answerMs: 5000 };
const OLDEST = 14;
/** Duties and keys go by the clocks of servers and database. */
const MOST_APART_MS = 30_000;
/** A server opens up to 32, mostly fewer. */
const FEW_LEFT = 8;

export async function lookAtDatabase({ databaseUrl: url }: Settings, clock: Clock): Promise<Finding> {
  if (!url) return ok("SQLite in the data folder");
  try {
    return await findingOf(url, clock);
  } catch (error) {
    const { message } = postgresTrouble(error, url) as Error;
    return fail(message, "A server that runs goes on by itself once that is mended. Start one that has ended again.");
  }
}

async function findingOf(url: string, clock: Clock): Promise<Finding> {
  const { lookAtPostgres } = await import("../adapters/postgres/look.ts");
  const { refusePooling } = await import("../adapters/postgres/pooler.ts");
  await refusePooling(url, PATIENCE);
  const { version, major, now, used, most } = await lookAtPostgres(url, PATIENCE);
  const apart = Math.abs(now - clock.now());
  if (major < OLDEST) return fail(`PostgreSQL ${version} is too old`, `Upgrade it to ${OLDEST} or later.`);
  if (apart > MOST_APART_MS)
    return fail(
      `its clock differs from this machine's by ${Math.round(apart / 1000)} seconds`,
      "Set both clocks by NTP: timedatectl set-ntp true",
    );
  if (most - used < FEW_LEFT)
    return warn(
      `${used} of ${most} connections are in use`,
      "Raise max_connections in postgresql.conf: each server opens up to 32.",
    );
  return ok(`PostgreSQL ${version} answers, with ${used} of ${most} connections in use`);
}
