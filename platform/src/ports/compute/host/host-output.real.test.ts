/** What programs write on the host: all of it is read, and a talkative one does not fill the disk. */
import { watch } from "node:fs";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { linesOf, newId, specOf } from "../conformance-world.ts";
import { openHost } from "./host-world.ts";

const MEGABYTES = 60;
const LINE = "x".repeat(999);
const LINES = MEGABYTES * 1_000;

test(`of ${MEGABYTES} MB that a program writes nothing is lost, and little stays on the disk`, async () => {
  await using world = await openHost();
  const id = newId();
  // It goes on when its output has been begun anew: a reader without a processor would never come to its end.
  const script = `const { fstatSync, writeSync } = require("node:fs");
    const pause = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
    for (let n = 0; n < ${LINES}; n++) {
      while (n % 1000 === 0 && fstatSync(1).size > 20_000_000) pause();
      writeSync(1, String(n).padStart(8) + "${LINE}".slice(8) + "\\n");
    }`;
  await world.compute.start(id, { ...specOf(world, []), entrypoint: ["node"], cmd: ["-e", script] });
  const signal = new AbortController().signal;
  let next = 0;
  let wrong = 0;
  for await (const { lines } of world.compute.logs(id, { signal }))
    for (const line of lines) if (Number(line.slice(0, 8)) !== next++ || line.length !== LINE.length) wrong++;
  expect([next, wrong]).toEqual([LINES, 0]);
  const { size } = await stat(join(world.data, "instances", id, "output"));
  expect(size).toBeLessThan(40_000_000);
  await world.compute.remove(id);
});

test("a position from before the output was begun anew goes on at its beginning", async () => {
  await using world = await openHost();
  const id = newId();
  const script = `const { writeSync } = require("node:fs");
    for (let n = 0; n < 18; n++) writeSync(1, ("${LINE}\\n").repeat(1000));
    process.on("SIGTERM", () => { writeSync(1, "last\\n"); process.exit(); });
    setInterval(() => {}, 1000);
    writeSync(1, "ready\\n");`;
  await world.compute.start(id, { ...specOf(world, []), entrypoint: ["node"], cmd: ["-e", script] });
  const first = await linesOf(world.compute, id, { limit: 1 });
  const over = new AbortController();
  const folder = watch(join(world.data, "instances", id), (_, name) => void (name === "generation" && over.abort()));
  for await (const _ of world.compute.logs(id, { after: first.at, signal: over.signal }));
  folder.close();
  await world.compute.stop(id, 10_000);
  const { lines } = await linesOf(world.compute, id, { after: first.at });
  expect(lines.at(-1)).toBe("last");
  expect(lines.length).toBeLessThan(2_000);
  await world.compute.remove(id);
});
