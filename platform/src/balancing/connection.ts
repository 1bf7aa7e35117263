/** A connection to a worker that can be used, or the reason why there is none, whatever a driver or another node gives. */
import type { Duplex } from "node:stream";
import type { Clock } from "../kernel/clock.ts";

/** A program that is there accepts within its turn; one whose line of waiting connections is full never does. */
export const DIAL_MS = 10_000;

/** What comes too late is closed. What breaks later tells those who use it, and ends nothing else when nobody does. */
export async function connection(dial: () => Promise<Duplex | undefined>, clock: Clock): Promise<Duplex> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  let isLate = false;
  const timer = clock.after(DIAL_MS, () => {
    isLate = true;
    reject(new Error(`no connection within ${DIAL_MS / 1000} s`));
  });
  const dialled = Promise.resolve()
    .then(dial)
    .then((given) => {
      given?.on("error", () => {});
      if (isLate) given?.destroy();
      return given;
    });
  // A connection that comes too late may fail too, and nobody waits for that.
  dialled.catch(() => {});
  try {
    return usable(await Promise.race([dialled, late]));
  } finally {
    timer.cancel();
  }
}

function usable(given: Duplex | undefined): Duplex {
  if (given && !given.destroyed && given.writable) return given;
  given?.destroy();
  throw new Error("the connection was broken as soon as it was made", { cause: given?.errored });
}
