/** A thread of the simulation's runner: it runs the seeds that it is given, one after the other. */
import { parentPort } from "node:worker_threads";
import { simulateSeed } from "./seeds.ts";

parentPort!.on("message", async ({ from, to }: { from: number; to: number }) => {
  for (let seed = from; seed < to; seed++) {
    const violation = await violationIn(seed);
    if (violation) return parentPort!.postMessage({ seed, message: violation });
  }
  parentPort!.postMessage({ ran: from });
});

async function violationIn(seed: number): Promise<string | undefined> {
  try {
    return (await simulateSeed(seed)).violation?.message;
  } catch (error) {
    return `seed ${seed}: the simulation itself failed: ${(error as Error).stack}`;
  }
}
