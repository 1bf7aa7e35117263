/** What happens to instances when the engine is killed and comes back, and to workers when the server is killed for good. */
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { importImage, startEngine } from "../../../tests/docker-engine.ts";
import { dockerWorld, openDriver, shell } from "../../../tests/docker-world.ts";
import { startHolder } from "../../../tests/instance-holder.ts";
import { TEST_IMAGE } from "../../../tests/real-docker.ts";
import { stay } from "../../kernel/clock.ts";
import { ended, found, linesOf } from "../../ports/compute/conformance-world.ts";

import { DriverAway } from "../../ports/compute/refusal.ts";

const COUNTS = shell("n=0; while true; do n=$((n + 1)); echo $n; sleep 0.02; done");

test.concurrent("a killed engine that keeps its containers gives them back, and no line is lost or repeated", async () => {
  await using engine = await startEngine({ apart: true, keepsContainers: true });
  await importImage(engine, TEST_IMAGE, { node: false });
  await using world = await dockerWorld({ addresses: [engine.socket] });
  const before = await world.compute.start("counts", COUNTS);
  const over = new AbortController();
  const lines: string[] = [];
  let restarted = false;
  for await (const output of world.compute.logs("counts", { signal: over.signal })) {
    lines.push(...output.lines);
    if (!restarted && lines.length >= 10) {
      restarted = true;
      await engine.kill();
      await expect(world.compute.list()).rejects.toThrow("does not answer");
      await engine.start();
    }
    if (lines.length >= 100) break;
  }
  over.abort();
  expect(lines).toEqual(lines.map((_, n) => String(n + 1)));
  expect(await found(world.compute, "counts")).toEqual(before);
  const exit = ended(world.compute, "counts");
  await world.compute.stop("counts", 0);
  expect(await exit).toMatchObject({ code: null });
});

test.concurrent("a killed engine that ends its containers has told so when it is back, and starts new ones", async () => {
  await using engine = await startEngine({ apart: true });
  await importImage(engine, TEST_IMAGE, { node: false });
  await using world = await dockerWorld({ addresses: [engine.socket] });
  const stays = shell("trap 'exit 0' TERM; echo ready; while true; do sleep 0.05; done", { kind: "pod" });
  await world.compute.start("pod", stays);
  await linesOf(world.compute, "pod", { limit: 1 });
  const reading = linesOf(world.compute, "pod");
  const exited = new Promise((resolve) =>
    world.compute.watch(({ state, exit }) => state === "exited" && resolve(exit)),
  );
  await engine.kill();
  await expect(world.compute.start("new", stays)).rejects.toBeInstanceOf(DriverAway);
  await engine.start();
  expect(await exited).toMatchObject({ at: expect.any(Number) });
  expect((await reading).lines).toEqual(["ready"]);
  expect(await world.compute.start("new", stays)).toMatchObject({ state: "running" });
});

test.concurrent("workers end some time after their server was killed, and Pods stay", async () => {
  await using folder = await temporaryFolder();
  await using world = await dockerWorld();
  const { installation } = world;
  await using holder = await startHolder({ installation, folder: folder.path, afterMs: 500 });
  const exit = ended(world.compute, holder.worker);
  holder.kill();
  expect(await exit).toMatchObject({ code: 0 });
  expect(await found(world.compute, holder.pod)).toMatchObject({ state: "running" });
});

test.concurrent("workers of a killed server go on with the server that comes after it", async () => {
  await using folder = await temporaryFolder();
  await using world = await dockerWorld();
  const { installation } = world;
  await using holder = await startHolder({ installation, folder: folder.path, afterMs: 500 });
  holder.kill();
  const watchdog = { file: join(folder.path, "watchdog"), afterMs: 60_000 };
  await using next = await openDriver(installation, { watchdog });
  await watchdogsOf(installation, 1);
  expect(await found(next, holder.worker)).toMatchObject({ state: "running" });
  await world.compute.remove(holder.worker);
  await next[Symbol.asyncDispose]();
  await watchdogsOf(installation, 0);
});

/** Resolves when exactly `count` watchdogs of an installation are left. */
async function watchdogsOf(installation: string, count: number): Promise<void> {
  for (;;) {
    const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
    const commands = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")));
    const left = commands.filter(
      (text) => text.includes("watchdog-program.ts") && text.split("\0").includes(installation),
    );
    if (left.length === count) return;
    await stay(50);
  }
}

async function temporaryFolder() {
  const path = await mkdtemp(join(tmpdir(), "millrace-watchdog-"));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true }) };
}
