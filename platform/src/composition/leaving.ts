/** A node that leaves in order: it says that it is not ready, and answers on until load balancers have heard that. */
import { type Clock, sleep } from "../kernel/clock.ts";
import type { Peer } from "../machines/machines.ts";

interface Leaving {
  clock: Clock;
  /** For how long it answers on. */
  leaveS: number | undefined;
  /** The other nodes, whether or not they are heard of. */
  peers(): Promise<readonly Pick<Peer, "isSilent">[]>;
}

/** Without another node there is nobody to whom requests could go instead, so nothing is waited for. */
export async function untilNoticed({ clock, leaveS = 0, peers }: Leaving): Promise<void> {
  if (leaveS === 0) return;
  const noticed = sleep(clock, leaveS * 1000);
  const isAlone = peers().then(
    (others) => others.every(({ isSilent }) => isSilent),
    () => false,
  );
  // A database that does not answer keeps nobody longer than that.
  await Promise.race([noticed, isAlone.then((alone) => (alone ? undefined : noticed))]);
}
