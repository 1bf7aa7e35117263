/** A server without a free descriptor takes no instance for ended because it cannot look, and says why it cannot start one. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const here = (file: string) => JSON.stringify(new URL(file, import.meta.url).href);

const PROGRAM = `
import { openSync } from "node:fs";
import { identityOf, isAlive, childrenOf, withGroup } from ${here("../machine/processes.ts")};
import { runTool } from ${here("../machine/forker.ts")};
import { Watchdog } from ${here("../docker/watchdog.ts")};
import { listenersSeenBy } from ${here("../machine/listeners.ts")};
const self = await identityOf(process.pid);
const gone = [await isAlive({ pid: 2 ** 22 + 1, startTime: "1" }), await childrenOf(2 ** 22 + 1)];
const watchdog = new Watchdog({ file: "/dev/null", afterMs: 0, installation: "none", clock: { now: () => 0 } });
try {
  for (;;) openSync("/dev/null");
} catch {}
const looks = [() => isAlive(self), () => childrenOf(process.pid), () => withGroup(1), () => listenersSeenBy("self")];
const acts = [() => runTool("/bin/cat", [], "text"), () => watchdog.guard("none")];
const said = [];
for (const one of [...looks, ...acts]) said.push(await one().then(String, ({ message }) => message.match(/EMFILE/)?.[0] ?? message));
process.stdout.write(JSON.stringify({ gone, said }), () => process.exit());
`;

test("no process is taken for ended, and no start fails for another reason, where no descriptor is free", async () => {
  const limited = ["-c", 'ulimit -n 96; exec "$0" --input-type=module -e "$1"', process.execPath, PROGRAM];
  const { stdout, stderr } = await promisify(execFile)("/bin/sh", limited);
  expect({ ...JSON.parse(stdout), stderr }).toEqual({
    gone: [false, []],
    said: Array.from({ length: 6 }, () => "EMFILE"),
    stderr: "",
  });
});
