/** Runs many histories on all cores: `npm run simulate -- --histories 100000 --seed 1`. Stops at a broken rule, unless told to go on. */
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { Worker } from "node:worker_threads";
import { realClock } from "../../src/kernel/clock.ts";
import { realRandom } from "../../src/kernel/random.ts";
import { kindOf } from "./kinds.ts";

/** A thread gets this many seeds at a time. */
const BLOCK = 64;
const TELL_MS = 10_000;
/** Nearly everything that a history makes is garbage before it ends, so a larger young generation is collected less often. */
const YOUNG_MB = 192;
/** Hundreds of times what a block takes. */
const LONGEST_BLOCK_MS = 600_000;

const { values } = parseArgs({
  options: {
    histories: { type: "string", default: "2000" },
    seed: { type: "string" },
    slice: { type: "string", default: "1/1" },
    workers: { type: "string", default: String(availableParallelism()) },
    /** Goes on after a history that breaks a rule. */
    "go-on": { type: "boolean", default: false },
    trace: { type: "boolean", default: false },
  },
});

const whole = Number(values.histories);
const seed = values.seed === undefined ? new DataView(realRandom.bytes(4).buffer).getUint32(0) : Number(values.seed);
const [slice, slices] = values.slice.split("/").map(Number) as [number, number];
const threads = Number(values.workers);
const isSane = [whole, seed, slice, slices, threads].every(Number.isSafeInteger) && slice >= 1 && slice <= slices;
if (!isSane || whole < 1 || threads < 1) {
  console.error(
    "usage: npm run simulate -- [--histories N] [--seed S] [--slice I/N] [--workers W] [--go-on] [--trace]",
  );
  process.exit(2);
}
const first = seed + Math.floor((whole * (slice - 1)) / slices);
const end = seed + Math.floor((whole * slice) / slices);

if (values.trace) await showEach();
else await runAll();

/** Shows what happens in each history, in this process. */
async function showEach(): Promise<void> {
  // The threads load the platform themselves. This thread needs it only here.
  const { simulateSeed } = await import("./seeds.ts");
  for (let one = first; one < end; one++) {
    const { text, violation } = await simulateSeed(one);
    console.log(text);
    if (violation) {
      console.error(`\n${violation.message}`);
      process.exit(1);
    }
  }
}

async function runAll(): Promise<void> {
  const startedAt = realClock.monotonic();
  console.log(`${end - first} histories, seeds ${first} to ${end - 1}, on ${threads} threads`);
  let next = first;
  /** No seeds from here on are begun. */
  let until = end;
  /** The first seeds of the blocks that the threads have, and when they got them. */
  const inHand = new Map<number, number>();
  let done = 0;
  let ofFleets = 0;
  const broken: number[] = [];
  // The threads finish the blocks that they have, so that what is done has no gaps. A second signal ends the run at once.
  const stop = () => {
    until = next;
  };
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, stop);
  const seconds = () => (realClock.monotonic() - startedAt) / 1000;
  const tell = () => {
    const rate = done / seconds();
    const left = Math.round((until - first - done) / Math.max(rate, 0.001));
    const all = `all below seed ${Math.min(next, ...inHand.keys())}`;
    console.log(
      `${done} of ${until - first} histories (${ofFleets} of fleets), ${all}, ${rate.toFixed(0)} a second, ${left} s left`,
    );
    // A history can loop in a way that its own watch over time does not see.
    for (const [from, since] of inHand)
      if (realClock.monotonic() - since > LONGEST_BLOCK_MS)
        console.error(`one of the seeds from ${from} on does not end, or the machine is very busy`);
  };
  const telling = setInterval(tell, TELL_MS);
  const running = Array.from({ length: Math.min(threads, Math.ceil((end - first) / BLOCK)) }, () => runThread());
  await Promise.all(running);
  clearInterval(telling);
  tell();
  if (until < end) {
    const rest = `--seed ${until} --histories ${end - until}`;
    console.log(`stopped: seeds ${first} to ${until - 1} are done. Go on with: npm run simulate -- ${rest}`);
  }
  if (broken.length > 0) {
    const seeds = broken.toSorted((a, b) => a - b);
    console.error(`\nseeds that broke a rule: ${seeds.join(", ")}`);
    console.error(`Run one again: npm run simulate -- --histories 1 --trace --seed ${seeds[0]}`);
    process.exit(1);
  }
  console.log(`no rule was broken in ${done} histories (${ofFleets} of fleets), in ${seconds().toFixed(0)} s`);

  /** Resolves once no seeds are left. */
  function runThread(): Promise<void> {
    const thread = new Worker(new URL("./thread.ts", import.meta.url), {
      execArgv: process.execArgv,
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB },
    });
    return new Promise((resolve, reject) => {
      const give = () => {
        const from = next;
        next = Math.min(until, next + BLOCK);
        if (from < next) {
          inHand.set(from, realClock.monotonic());
          return thread.postMessage({ from, to: next });
        }
        void thread.terminate();
        resolve();
      };
      thread.on("message", (answer: { ran: number; to: number } | { seed: number; message: string }) => {
        if ("seed" in answer) {
          broken.push(answer.seed);
          console.error(`\n${answer.message}\n`);
          if (!values["go-on"]) stop();
          return;
        }
        inHand.delete(answer.ran);
        for (let one = answer.ran; one < answer.to; one++) if (kindOf(one) === "fleet") ofFleets++;
        done += answer.to - answer.ran;
        give();
      });
      thread.on("error", reject);
      give();
    });
  }
}
