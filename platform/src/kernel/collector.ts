/** Gives access to this thread's garbage collector, for code that knows better than V8 when there is much to collect. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** The flag applies to the whole process, but only makes `gc` available: it does not change how memory is collected. */
export function openCollector(): () => void {
  setFlagsFromString("--expose-gc");
  return runInNewContext("gc") as () => void;
}
