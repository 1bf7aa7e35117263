/** Gives access to this thread's garbage collector, for code that knows better than V8 when there is much to collect. */
import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** The flag applies to the whole process, but only makes `gc` available: it does not change how memory is collected. */
export function openCollector(): () => void {
  setFlagsFromString("--expose-gc");
  return runInNewContext("gc") as () => void;
}

/** Asking V8 takes some microseconds, so a thread asks after this many messages. */
const LOOK_AFTER = 64;
/** A thread may hold this much more than after its last collection. Half of it may be its young generation. */
const SPARE_BYTES = 8 * 1024 * 1024;

/**
 * Collects the garbage of a thread that lives for long and keeps little. A few KB of each message grow old before they die, and V8 lets
 * tens of megabytes of them gather, which takes hours. The heap is small, so that collecting it takes milliseconds.
 */
export class SmallHeap {
  readonly #used: () => number;
  readonly #collect: () => void;
  #messages = 0;
  #keptBytes: number;

  constructor(used = usedBytes, collect = collectThis()) {
    this.#used = used;
    this.#collect = collect;
    this.#keptBytes = used();
  }

  /** Called after each message. */
  tidy(): void {
    if (++this.#messages % LOOK_AFTER !== 0 || this.#used() < this.#keptBytes + SPARE_BYTES) return;
    this.#collect();
    this.#keptBytes = this.#used();
  }
}

const usedBytes = () => getHeapStatistics().used_heap_size;

/** The collector is opened at its first use, which most threads never come to. */
function collectThis(): () => void {
  let collect: (() => void) | undefined;
  return () => {
    collect ??= openCollector();
    collect();
  };
}
