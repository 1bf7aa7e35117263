/** How long results are kept after a job has ended, and the words for it. */

const MINUTE_MS = 60_000;

export interface Retention {
  run: number;
  runsync: number;
  runsyncWithWait: number;
  batch: number;
}

export const RETENTION_MS: Retention = {
  run: 30 * MINUTE_MS,
  runsync: MINUTE_MS,
  runsyncWithWait: 5 * MINUTE_MS,
  /** This is longer than any batch takes. Once the batch has ended, its results expire like those of /run. */
  batch: 30 * 24 * 60 * MINUTE_MS,
};

/** A week, as long as a job may wait. */
const MOST_MINUTES = 7 * 24 * 60;

/** Reads minutes for /run, /runsync, and /runsync with `wait`. */
export function parseRetention(text: string): Retention {
  const minutes = text.split(",").map((one) => (/^\s*\d{1,6}\s*$/.test(one) ? Number(one) : 0));
  if (minutes.length !== 3 || minutes.some((one) => one < 1 || one > MOST_MINUTES))
    throw new Error(`must be three numbers of minutes from 1 to ${MOST_MINUTES}, such as 30,1,5`);
  const [run, runsync, runsyncWithWait] = minutes.map((one) => one * MINUTE_MS) as [number, number, number];
  return { ...RETENTION_MS, run, runsync, runsyncWithWait };
}

const inMinutes = (ms: number) => (ms === MINUTE_MS ? "1 minute" : `${ms / MINUTE_MS} minutes`);

export const keptFor = ({ run, runsync, runsyncWithWait }: Retention, isSync: boolean): string =>
  isSync
    ? `results of /runsync are kept for ${inMinutes(runsync)} after the end, ${inMinutes(runsyncWithWait)} with 'wait'`
    : `results of /run are kept for ${inMinutes(run)} after the end`;
