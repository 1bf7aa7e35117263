/** What `start.js` asks for before the console is loaded: reads of the public API that its pages take, and nothing that could wake a worker. */
import { readFileSync } from "node:fs";
import { operations } from "@millrace/platform/contract.ts";
import { afterEach, expect, test } from "vitest";
import { hasEarly, takeEarly } from "./early.ts";

const textOf = (path: string) => readFileSync(new URL(path, import.meta.url), "utf8");
const start = textOf("../../public/start.js");
const reads = [...start.matchAll(/\["(\/[^"]*)", \[([^\]]*)\]\]/g)].map(([, page, addresses]) => ({
  page: page!,
  addresses: [...addresses!.matchAll(/"([^"]+)"/g)].map(([, address]) => address!),
}));

test("every early read belongs to a page, and is a read of the API that sends nothing to a worker", () => {
  expect(reads.length).toBeGreaterThan(5);
  const routes = textOf("../routes.ts");
  const paths = Object.values(operations)
    .filter(({ method }) => method === "GET")
    .map(({ path }) => path.replace("{id}", "$id"));
  for (const { page, addresses } of reads) {
    expect(routes).toContain(`page("${page}", `);
    for (const address of addresses) expect(paths).toContain(address);
  }
});

afterEach(() => {
  globalThis.millraceEarly = undefined;
});

test("an early answer is taken once, and stopped with whoever takes it", async () => {
  const stop = new AbortController();
  const answer = Promise.resolve(new Response("{}"));
  globalThis.millraceEarly = new Map([["/v2/pods", { answer, stop }]]);
  const gone = new AbortController();
  expect(hasEarly("/v2/pods")).toBe(true);
  expect(takeEarly("/v2/pods", gone.signal)).toBe(answer);
  expect([hasEarly("/v2/pods"), takeEarly("/v2/pods", undefined)]).toEqual([false, undefined]);
  gone.abort();
  expect(stop.signal.aborted).toBe(true);
});
