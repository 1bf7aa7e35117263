/** The lines of a Pod's log, as a node sends them. */
import { expect, test } from "vitest";
import { messagesIn } from "./pod-logs.ts";

async function* chunks(...texts: string[]): AsyncIterable<Buffer> {
  for (const text of texts) yield Buffer.from(text);
}

async function messages(...texts: string[]): Promise<string[]> {
  const all: string[] = [];
  for await (const some of messagesIn(chunks(...texts))) all.push(...some.map(({ time, bytes }) => `${time} ${bytes}`));
  return all;
}

test("each line has its time to the nanosecond, however it is cut on the way", async () => {
  const text = "2026-01-01T00:00:00.000000001Z one\n2026-01-01T00:00:00.5Z two words\n";
  const expected = ["1767225600.000000001 one\n", "1767225600.500000000 two words\n"];
  expect(await messages(text)).toEqual(expected);
  expect(await messages(...text)).toEqual(expected);
});

test("a last line without an end is given, and an empty line is a line", async () => {
  expect(await messages("2026-01-01T00:00:00Z \n2026-01-01T00:00:01Z rest")).toEqual([
    "1767225600.000000000 \n",
    "1767225601.000000000 rest",
  ]);
});

test("an endless line comes in pieces, and none of it is held back", async () => {
  const all = await messages("2026-01-01T00:00:00Z ", "x".repeat(70_000), "y".repeat(70_000), "\n");
  expect(all.length).toBeGreaterThan(1);
  expect(all.join("").replaceAll("1767225600.000000000 ", "")).toBe(`${"x".repeat(70_000)}${"y".repeat(70_000)}\n`);
});

test("what a node says about a log that it no longer has is no output", async () => {
  expect(
    await messages("unable to retrieve container logs for containerd://41d0d44c898380f30a04d434500ffae8\n"),
  ).toEqual([]);
});
