/** The garbage collector of this thread, for those who know better than it when there is much to collect. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** The flag is one of the whole process, and only lets `gc` be found: nobody's memory is treated otherwise by it. */
export function openCollector(): () => void {
  setFlagsFromString("--expose-gc");
  return runInNewContext("gc") as () => void;
}
