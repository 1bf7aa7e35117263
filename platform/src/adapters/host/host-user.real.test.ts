/** The host driver of a server that is not root: a sandbox all the same, on the machine's network, without limits. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { access, chown, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, test } from "vitest";
import { realClock, sleep } from "../../kernel/clock.ts";
import { newId, specOf } from "../../ports/compute/conformance-world.ts";
import { openHost } from "./host-world.ts";
import { missingForTests } from "./machine.ts";
import { sendSignal } from "./processes.ts";

const NOBODY = 65_534;
const missing = await missingForTests();

test("programs see neither the machine nor the data folder of the user they run as", async ({ skip }) => {
  skip(missing !== undefined, missing);
  skip(!(await othersMayRead(process.execPath)), "this checkout lies where other users cannot reach");
  await using world = await openHost();
  const data = await mkdtemp(join(tmpdir(), "millrace-data-"));
  await chown(data, NOBODY, NOBODY);
  const id = newId();
  const driver = spawn(
    "/usr/bin/setpriv",
    [
      `--reuid=${NOBODY}`,
      `--regid=${NOBODY}`,
      "--clear-groups",
      process.execPath,
      join(import.meta.dirname, "driver-process.ts"),
      data,
      "1",
    ],
    { stdio: ["pipe", "pipe", "ignore"] },
  );
  try {
    await once(createInterface({ input: driver.stdout }), "line");
    const script = `id -u; ls ${data} /root /home /etc/shadow 2>&1 | grep -c 'No such file'; ls /proc | grep -cE '^[0-9]+$'; unshare -U true 2>&1`;
    const spec = { ...specOf(world, []), entrypoint: [], cmd: ["sh", "-c", script] };
    driver.stdin.write(`${JSON.stringify({ id, spec })}\n`);
    const folder = join(data, "instances", id);
    await until(async () => (await readFile(join(folder, "exit"), "utf8").catch(() => "")).endsWith("\n"));
    const lines = (await readFile(join(folder, "output"), "utf8")).trimEnd().split("\n");
    expect(lines.slice(0, 2)).toEqual([String(NOBODY), "4"]);
    expect(Number(lines[2])).toBeLessThan(6);
    expect(lines[3]).toContain("not permitted");
  } finally {
    sendSignal(driver.pid!, "SIGKILL");
    await until(() =>
      access(join(data, "instances", ".watchdog")).then(
        () => false,
        () => true,
      ),
    );
    await rm(data, { recursive: true });
  }
});

async function othersMayRead(path: string): Promise<boolean> {
  const child = spawn("/usr/bin/setpriv", [`--reuid=${NOBODY}`, "--clear-groups", path, "--version"], {
    stdio: "ignore",
  });
  return (await once(child, "exit"))[0] === 0;
}

/** Looks again until it is so: nobody tells what a process elsewhere has done. */
async function until(happened: () => Promise<boolean>): Promise<void> {
  while (!(await happened())) await sleep(realClock, 50);
}
