/** A rotation of the master key that kills its own process: `<data folder> <random values and steps before the kill>`. */
import { realRandom } from "../src/kernel/random.ts";
import { rotateMasterKey } from "../src/main.ts";
import { settingsFrom } from "../src/settings/settings.ts";

const [data, allowed] = process.argv.slice(2);
let left = Number(allowed);

function come(): void {
  if (--left < 0) process.kill(process.pid, "SIGKILL");
}

// Each new key, each value that is sealed again and each file that is written takes random bytes first, so each counts as a step.
const random = {
  bytes(count: number) {
    come();
    return realRandom.bytes(count);
  },
};
await rotateMasterKey(settingsFrom(process.env, { data }), { random, progress: come });
console.log(left);
