/** What `start.js` asks for before the console is loaded: reads of the public API that its pages take, and nothing that could wake a worker. */
import { readFileSync } from "node:fs";
import { runInNewContext } from "node:vm";
import { invokeOperations } from "@millrace/platform/contract.ts";
import { afterEach, expect, test } from "vitest";
import { calls } from "./calls.data.ts";
import { hasEarly, takeEarly } from "./early.ts";
import { FIRST_READS } from "./first-reads.ts";

const textOf = (path: string) => readFileSync(new URL(path, import.meta.url), "utf8");
const start = textOf("../../public/start.js");

test("every first read belongs to a page, and is a read of the API that sends nothing to a worker", () => {
  const routes = textOf("../routes.ts");
  for (const [page, reads] of Object.entries(FIRST_READS)) {
    expect(routes).toContain(`page("${page}", `);
    for (const { name, params, isOfQueue } of reads) {
      expect(calls[name]).toMatchObject({ method: "GET" });
      expect([name, Object.keys(params ?? {})]).toEqual([name, parametersOf(calls[name]!.path)]);
      // These go to a worker of a load balancing endpoint.
      expect([name, isOfQueue === true]).toEqual([name, name in invokeOperations]);
    }
  }
});

const parametersOf = (path: string) => [...path.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => parameter);

/** Runs `start.js` as a page at this address does, and returns what it loads and asks for. */
function started(address: string, { isSignedIn = true } = {}) {
  const [loaded, asked]: [string[], string[]] = [[], []];
  const { pathname, search } = new URL(address, "http://console");
  const world = {
    document: {
      documentElement: { dataset: {} },
      createElement: () => ({}),
      head: { append: ({ rel, href }: { rel: string; href: string }) => loaded.push(`${rel} ${href}`) },
    },
    localStorage: { getItem: (name: string) => (name === "millrace.page" && isSignedIn ? "token" : null) },
    location: { pathname, search },
    AbortController,
    fetch: async (url: string) => {
      asked.push(url);
      return Response.json({ type: url.endsWith("/queue") ? "QUEUE" : "LOAD_BALANCER" });
    },
  };
  const built = start
    .replace("const PAGES = [];", `const PAGES = ${JSON.stringify(PAGES)};`)
    .replace("const FILES = [];", 'const FILES = ["assets/list.js", "assets/list.css", "assets/new.js"];');
  runInNewContext(built, world);
  return { loaded, asked };
}

const PAGES = [
  ["/pods", [0, 1], ["/v2/pods"], []],
  ["/pods/new", [2], [], []],
  ["/pods/$id", [0], ["/v2/pods/$id"], []],
  ["/serverless/$id", [0], ["/v2/serverless/$id"], ["/v2/$id/health"]],
];

test("a page loads its own files and asks for its own rows before the console runs", () => {
  expect(started("/pods")).toEqual({
    loaded: ["modulepreload /assets/list.js", "preload /assets/list.css"],
    asked: ["/v2/account/events", "/v2/account/me", "/v2/pods"],
  });
  expect(started("/pods/p1").asked.at(-1)).toBe("/v2/pods/p1");
});

test("a page that makes something new is not taken for one with an id, and a view in the address asks for its own rows", () => {
  const { loaded, asked } = started("/pods/new");
  expect([loaded, asked.at(-1)]).toEqual([["modulepreload /assets/new.js"], "/v2/account/me"]);
  expect(started("/pods?members=yes").asked.at(-1)).toBe("/v2/account/me");
});

test("what may be a worker's is asked as soon as the endpoint is known to have a queue", async () => {
  const [queue, balanced] = [started("/serverless/queue"), started("/serverless/balanced")];
  await expect.poll(() => queue.asked.at(-1)).toBe("/v2/queue/health");
  expect(balanced.asked.at(-1)).toBe("/v2/serverless/balanced");
});

test("nothing is asked for anybody who is not signed in, and an unknown address loads nothing early", () => {
  expect(started("/pods", { isSignedIn: false }).asked).toEqual([]);
  for (const path of ["/sign-in", "/sign-in/", "/sign-in/provider/", "/invitation/"])
    expect(started(path).asked).toEqual([]);
  expect(started("/nowhere")).toEqual({ loaded: [], asked: ["/v2/account/events", "/v2/account/me"] });
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
