/** A rotation of the master key that kills its own process: `<data folder> <how many random values and steps it may come to>`. */
import { realRandom } from "../src/kernel/random.ts";
import { rotateMasterKey } from "../src/main.ts";
import { settingsFrom } from "../src/settings/settings.ts";

const [data, allowed] = process.argv.slice(2);
let left = Number(allowed);

function come(): void {
  if (--left < 0) process.kill(process.pid, "SIGKILL");
}

// Every key that is made, every value that is sealed anew and every file that is written asks for random bytes first.
const random = {
  bytes(count: number) {
    come();
    return realRandom.bytes(count);
  },
};
await rotateMasterKey(settingsFrom(process.env, { data }), { random, progress: come });
console.log(left);
