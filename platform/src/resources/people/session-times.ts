/** How long a session of a person lasts, as the settings say. */

const DAY_MS = 86_400_000;
const MOST_DAYS = 365;

export interface SessionTimes {
  /** A session ends after this time even if it is used. */
  mostMs: number;
  /** An unused session ends after this time. */
  idleMs: number;
}

export const standardTimes: SessionTimes = { mostMs: 30 * DAY_MS, idleMs: 7 * DAY_MS };

/** Reads days for a session at most, and for one that nobody uses. */
export function parseSessionDays(text: string): SessionTimes {
  const days = text.split(",").map((one) => (/^\s*\d{1,3}\s*$/.test(one) ? Number(one) : 0));
  const [most = 0, idle = 0] = days;
  if (days.length !== 2 || idle < 1 || idle > most || most > MOST_DAYS)
    throw new Error(`must be two numbers of days from 1 to ${MOST_DAYS}, such as 30,7, the larger one first`);
  return { mostMs: most * DAY_MS, idleMs: idle * DAY_MS };
}
