/** Large bodies: no account waits for everything that another account sends. */
import { expect, test } from "vitest";
import { LargeJson } from "./large-json.ts";

const body = (bytes: number) => Buffer.from(`{"input":{"text":"${"x".repeat(bytes)}"}}`);
const MB = 1024 * 1024;

/** Sends all bodies at once, and returns the accounts in the order in which their bodies were read. */
async function orderOf(sent: [whose: string, bytes: number][]): Promise<string[]> {
  await using large = new LargeJson();
  // Starts both threads before the order counts.
  await Promise.all([2 * MB, 300_000].map((bytes) => large.request(body(bytes), "first")));
  const order: string[] = [];
  await Promise.all(
    sent.map(async ([whose, bytes]) => {
      await large.request(body(bytes), whose);
      order.push(whose);
    }),
  );
  return order;
}

test("of many large bodies of one account and one of another, that one comes after two at most", async () => {
  const hostile = Array.from({ length: 6 }, (): [string, number] => ["hostile", 4 * MB]);
  expect((await orderOf([...hostile, ["witness", 2 * MB]])).indexOf("witness")).toBeLessThanOrEqual(2);
});

test("a body of 300 KB does not wait for longer ones", async () => {
  const hostile = Array.from({ length: 4 }, (): [string, number] => ["hostile", 19 * MB]);
  expect((await orderOf([...hostile, ["witness", 300_000]])).at(-1)).toBe("hostile");
});

test("what waits when the server ends is refused", async () => {
  const large = new LargeJson();
  const asked = [1, 2, 3].map(() => large.request(body(2 * MB), "account"));
  const settled = Promise.allSettled(asked);
  await large[Symbol.asyncDispose]();
  expect((await settled).map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
  await expect(large.request(body(2 * MB), "account")).rejects.toThrow("the server is being ended");
});

test("pieces of a body are read as they are, however long the one before was, and stay with whoever sent them", async () => {
  await using large = new LargeJson();
  using scan = large.scan();
  const pieces = ['{"output":"', "x".repeat(300_000), "y".repeat(100_000), "z", '","error":"', "no", '"}'].map((text) =>
    Buffer.from(text),
  );
  for (const piece of pieces) expect(await scan.push(piece)).toBe(true);
  expect(pieces.map(({ length }) => length)).toEqual([11, 300_000, 100_000, 1, 11, 2, 2]);
  const scanned = (await scan.end()) as { members: Map<string, { span: [number, number]; beginning?: Uint8Array }> };
  expect(scanned.members.get("output")!.span).toEqual([10, 400_013]);
  expect(Buffer.from(scanned.members.get("error")!.beginning!).toString()).toBe('"no"');
});

test("a piece that ends a body's being JSON does so behind a longer one", async () => {
  await using large = new LargeJson();
  using scan = large.scan();
  expect(await scan.push(Buffer.from(`["${"x".repeat(1000)}",`))).toBe(true);
  expect(await scan.push(Buffer.from("?"))).toBe(false);
});
