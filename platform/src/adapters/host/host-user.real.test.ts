/** The host driver of a server that is not root: if allowed, programs run sandboxed, on the machine's network and without limits. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { access, chown, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { beforeEach, expect, test } from "vitest";
import { realClock, sleep } from "../../kernel/clock.ts";
import type { InstanceSpec } from "../../ports/compute/compute.ts";
import { newId, specOf } from "../../ports/compute/conformance-world.ts";
import { sendSignal } from "../machine/processes.ts";
import { openHost } from "./host-world.ts";
import { missingForTests } from "./machine.ts";

const NOBODY = 65_534;
const missing = await missingForTests();

beforeEach(async ({ skip }) => {
  skip(missing !== undefined, missing);
  skip(!(await othersMayRead(process.execPath)), "this checkout lies where other users cannot reach");
});

test("programs that would share the machine's network and have no limits are refused, and nothing of them runs", async () => {
  await using world = await openHost();
  await using driver = await nobodysDriver();
  const id = newId();
  const refusal = await driver.tell(id, { ...specOf(world, []), entrypoint: [], cmd: ["id"] });
  expect(refusal).toContain(`refused ${id} programs cannot be isolated from this machine`);
  expect(refusal).toContain("instances would share the machine's network: only root can give instances a network");
  expect(refusal).toContain("instances would run without limits");
  expect(refusal).toContain("MILLRACE_SANDBOX=optional");
  expect(await readdir(join(driver.data, "instances"))).not.toContain(id);
});

test("programs see neither the machine nor the data folder of the user they run as", async () => {
  await using world = await openHost();
  await using driver = await nobodysDriver("unsandboxed");
  const { data } = driver;
  const id = newId();
  const script = `id -u; ls ${data} /root /home /etc/shadow 2>&1 | grep -c 'No such file'; ls /proc | grep -cE '^[0-9]+$'; unshare -U true 2>&1`;
  expect(await driver.tell(id, { ...specOf(world, []), entrypoint: [], cmd: ["sh", "-c", script] })).toBe(
    `started ${id}`,
  );
  const folder = join(data, "instances", id);
  await until(async () => (await readFile(join(folder, "exit"), "utf8").catch(() => "")).endsWith("\n"));
  const lines = (await readFile(join(folder, "output"), "utf8")).trimEnd().split("\n");
  expect(lines.slice(0, 2)).toEqual([String(NOBODY), "4"]);
  expect(Number(lines[2])).toBeLessThan(6);
  expect(lines[3]).toContain("not permitted");
});

/** A driver in a process of an unprivileged user, with a data folder of its own. */
async function nobodysDriver(...words: string[]) {
  const data = await mkdtemp(join(tmpdir(), "millrace-data-"));
  await chown(data, NOBODY, NOBODY);
  const program = [process.execPath, join(import.meta.dirname, "driver-process.ts"), data, "1", ...words];
  const drop = [`--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups"];
  const driver = spawn("/usr/bin/setpriv", [...drop, ...program], { stdio: ["pipe", "pipe", "ignore"] });
  const lines = createInterface({ input: driver.stdout });
  await once(lines, "line");
  return {
    data,
    /** Asks the driver to start an instance and returns its answer. */
    async tell(id: string, spec: InstanceSpec): Promise<string> {
      const said = once(lines, "line");
      driver.stdin.write(`${JSON.stringify({ id, spec })}\n`);
      return (await said)[0];
    },
    async [Symbol.asyncDispose]() {
      sendSignal(driver.pid!, "SIGKILL");
      await until(() =>
        access(join(data, "instances", ".watchdog")).then(
          () => false,
          () => true,
        ),
      );
      await rm(data, { recursive: true });
    },
  };
}

async function othersMayRead(path: string): Promise<boolean> {
  const child = spawn("/usr/bin/setpriv", [`--reuid=${NOBODY}`, "--clear-groups", path, "--version"], {
    stdio: "ignore",
  });
  return (await once(child, "exit"))[0] === 0;
}

/** Polls, since another process sends no notification. */
async function until(happened: () => Promise<boolean>): Promise<void> {
  while (!(await happened())) await sleep(realClock, 50);
}
