/** Says whether the database that the settings name can be used, and how to mend it. */
import type { Clock } from "../kernel/clock.ts";
import { areApart, differenceText } from "../kernel/clock-difference.ts";
import { type Finding, fail, ok, warn } from "../kernel/finding.ts";
import type { Settings } from "../settings/settings.ts";
import { postgresTrouble } from "./start-trouble.ts";

const PATIENCE = { answerMs: 5000 };
/** With a larger difference, servers refuse each other's requests. */
const MOST_APART_MS = 30_000;
const SET_CLOCKS = "Turn on NTP on both machines: 'sudo timedatectl set-ntp true', or chrony.";
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
  const { lookAtPostgres, unfitness } = await import("../adapters/postgres/look.ts");
  const { refusePooling } = await import("../adapters/postgres/pooler.ts");
  await refusePooling(url, PATIENCE);
  const facts = await lookAtPostgres(url, clock, PATIENCE);
  const { version, difference, used, most } = facts;
  const clocks = `this machine's clock is ${differenceText(difference)} PostgreSQL's`;
  const unfit = unfitness(facts);
  if (unfit) return fail(unfit.why, `${unfit.help[0]!.toUpperCase()}${unfit.help.slice(1)}.`);
  if (Math.abs(difference.aheadMs) > MOST_APART_MS) return fail(clocks, SET_CLOCKS);
  if (most - used < FEW_LEFT)
    return warn(
      `${used} of ${most} connections are in use`,
      "Raise max_connections in postgresql.conf: each server opens up to 32.",
    );
  if (areApart(difference)) return warn(`${clocks}, so jobs may end early or late`, SET_CLOCKS);
  return ok(`PostgreSQL ${version} answers, with ${used} of ${most} connections in use; ${clocks}`);
}
