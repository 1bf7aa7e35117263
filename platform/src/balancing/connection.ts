/** Makes a usable connection to a worker, or gives the reason why there is none, whatever a driver or another node returns. */
import type { Duplex } from "node:stream";
import type { Clock } from "../kernel/clock.ts";

/** A running program accepts a connection well within this time. One whose accept queue is full never does. */
export const DIAL_MS = 10_000;

/** A connection that comes too late is closed. An error later reaches those who use the connection and does nothing else. */
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
  // A late connection may also fail, and nobody waits for that.
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
