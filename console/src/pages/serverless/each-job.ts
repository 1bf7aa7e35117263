/** Does one thing to many jobs, a few at a time, and counts what became of it. */
import { Refusal } from "../../api/refusal.ts";

export interface Tally {
  done: number;
  /** Those that were refused, by the words of the server. */
  refused: Map<string, number>;
}

const AT_ONCE = 6;
const PAUSE_MS = 1000;
const MOST_PAUSES = 30;

interface Doing {
  onProgress?: (done: number) => void;
  pause?: (ms: number) => Promise<unknown>;
}

const paused = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** A refusal that only means "later" (429) is waited for; any other is counted, and the rest goes on. */
export async function eachJob(
  ids: readonly string[],
  act: (id: string) => Promise<unknown>,
  { onProgress, pause = paused }: Doing = {},
): Promise<Tally> {
  const tally: Tally = { done: 0, refused: new Map() };
  const waiting = [...ids].reverse();
  let finished = 0;
  const one = async (id: string) => {
    for (let pauses = 0; ; pauses++) {
      try {
        await act(id);
        tally.done++;
        return;
      } catch (error) {
        const isLater = error instanceof Refusal && error.status === 429 && pauses < MOST_PAUSES;
        if (isLater) await pause(PAUSE_MS);
        else {
          const words = error instanceof Error ? error.message : String(error);
          tally.refused.set(words, (tally.refused.get(words) ?? 0) + 1);
          return;
        }
      }
    }
  };
  const hand = async () => {
    for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
      await one(id);
      onProgress?.(++finished);
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, ids.length) }, hand));
  return tally;
}

/** `12 jobs cancelled. 3 were not: job not found (2), …` */
export function tallyText(verb: string, { done, refused }: Tally): string {
  const not = [...refused.values()].reduce((sum, count) => sum + count, 0);
  const text = `${done} ${done === 1 ? "job" : "jobs"} ${verb}.`;
  if (not === 0) return text;
  const why = [...refused].map(([words, count]) => `${words} (${count})`).join(", ");
  return `${text} ${not} ${not === 1 ? "was" : "were"} not: ${why}`;
}
