/** Connects to the loopback of an instance through a driver that may lack the ability. */
import type { Duplex } from "node:stream";
import { type Lacks, whyLacking } from "./abilities.ts";
import type { Loopback, LoopbackTarget } from "./loopback.ts";

/** If the driver lacks the ability, the error says so. */
export async function dialLoopback(
  driver: { readonly loopback?: Loopback | undefined; readonly lacks?: Lacks | undefined },
  id: string,
  target: LoopbackTarget,
): Promise<Duplex> {
  if (!driver.loopback) throw new Error(whyLacking(driver, "loopback"));
  return driver.loopback.dial(id, target);
}
