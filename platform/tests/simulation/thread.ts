/** A thread of the simulation's runner: it runs the seeds that it is given, one after the other. */
import { enableCompileCache, flushCompileCache } from "node:module";
import { parentPort } from "node:worker_threads";

// Loading the platform takes each thread as long as many histories. What was compiled is kept for the next thread and the next run.
enableCompileCache();
const { simulateSeed } = await import("./seeds.ts");
flushCompileCache();

parentPort!.on("message", async ({ from, to }: { from: number; to: number }) => {
  for (let seed = from; seed < to; seed++) {
    const violation = await violationIn(seed);
    if (violation) parentPort!.postMessage({ seed, message: violation });
  }
  parentPort!.postMessage({ ran: from, to });
});

const STACK_LINES = Error.stackTraceLimit;

/** Refusals are ordinary in a history, and hardly anybody reads where they came from. A history that breaks a rule runs again with stacks. */
async function violationIn(seed: number): Promise<string | undefined> {
  Error.stackTraceLimit = 0;
  const violation = await outcomeOf(seed);
  Error.stackTraceLimit = STACK_LINES;
  return (
    violation && ((await outcomeOf(seed)) ?? `${violation}\nIt did not happen again in a second run of this seed.`)
  );
}

async function outcomeOf(seed: number): Promise<string | undefined> {
  try {
    return (await simulateSeed(seed)).violation?.message;
  } catch (error) {
    return `seed ${seed}: the simulation itself failed: ${(error as Error).stack}`;
  }
}
