/** The watchdog of a killed server and the next server work at the same time: the server recreates what the watchdog clears. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { access, chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { realClock, stay } from "../../kernel/clock.ts";
import { withGroup } from "../machine/processes.ts";
import { Watchdog } from "./watchdog.ts";

const SCRIPT = join(import.meta.dirname, "watchdog.sh");

test("a server that comes while the last one's watchdog clears the machine ends it before it makes anything", async () => {
  const folder = await mkdtemp(join(tmpdir(), "millrace-watchdog-"));
  const tools = join(folder, "tools");
  const [begun, cleared] = [join(folder, "begun"), join(folder, "cleared")];
  await mkdir(tools);
  // The tool is slow, as on a busy machine.
  await writeFile(join(tools, "ip"), `#!/bin/sh\n: >"${begun}"\nsleep 1\n: >"${cleared}"\n`);
  for (const name of ["nft", "iptables"]) await writeFile(join(tools, name), "#!/bin/sh\n");
  for (const name of ["ip", "nft", "iptables"]) await chmod(join(tools, name), 0o755);
  const watchdog = spawn("/bin/sh", [SCRIPT, folder, "1", "mr-test", "millrace_test"], {
    detached: true,
    stdio: "ignore",
    env: { PATH: `${tools}:/usr/bin:/bin` },
  });
  const ended = once(watchdog, "exit");
  while (!(await isThere(begun))) await stay(10);
  await new Watchdog(folder, 1, realClock).takeOver();
  expect(await withGroup(watchdog.pid!)).toEqual([]);
  await ended;
  expect(await isThere(cleared)).toBe(false);
  await rm(folder, { recursive: true });
});

test("a worker whose launcher went without a word has ended, and the machine is cleared", async () => {
  const folder = await mkdtemp(join(tmpdir(), "millrace-watchdog-"));
  const instance = join(folder, "instance");
  await mkdir(instance);
  const gone = spawn("true");
  await once(gone, "exit");
  const kept = { "spec.json": "{}", worker: "", cgroups: "", identity: `${gone.pid} (sh) S 1\n` };
  for (const [name, text] of Object.entries(kept)) await writeFile(join(instance, name), text);
  const watchdog = spawn("/bin/sh", [SCRIPT, folder, "1", "", ""], { detached: true, stdio: "ignore" });
  await once(watchdog, "exit");
  expect(await readFile(join(instance, "exit"), "utf8")).toBe("137\n");
  await rm(folder, { recursive: true });
});

const isThere = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  );
