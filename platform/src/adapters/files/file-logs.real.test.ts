/** Logs in files survive the process that wrote them, at whatever point it was killed. */
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startChild } from "../../../tests/child.ts";
import { FileLogs } from "./file-logs.ts";

const STREAM = "worker/ep/w1";
const WRITER = new URL("../../../tests/fixtures/log-writer.ts", import.meta.url).pathname;

test("a writer killed again and again leaves every line once, in order, and the position that belongs to the last one", async () => {
  const folder = await mkdtemp(join(tmpdir(), "millrace-logs-"));
  let before = 0;
  for (let round = 0; round < 8; round++) {
    const writer = startChild(process.execPath, [WRITER, folder, STREAM]);
    for (let said = 0; said < 10 + 7 * round; ) said += (await once(writer.stdout, "data"))[0].length;
    writer.kill("SIGKILL");
    await once(writer, "exit");
    await using logs = new FileLogs(folder, { failed: () => undefined });
    const lines = await logs.read(STREAM, { from: { since: 0 } });
    const numbers = lines.map(({ line }) => Number.parseInt(line, 10));
    expect(numbers.findIndex((number, i) => number !== i + 1)).toBe(-1);
    expect(lines.findIndex(({ sequence }, i) => sequence !== i + 1)).toBe(-1);
    expect(Number((await logs.position(STREAM)) ?? 0)).toBe(numbers.length);
    expect(numbers.length).toBeGreaterThanOrEqual(before);
    before = numbers.length;
  }
  expect(before).toBeGreaterThan(100);
  await rm(folder, { recursive: true });
});
