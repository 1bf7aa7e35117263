/** A load-balancing endpoint that one account shares: what its workers learn of guests, what guests learn of workers, and what they pay. */
import type { RequestListener } from "node:http";
import { describe, expect, test } from "vitest";
import { type BalancedOptions, READ_BY, setupBalanced } from "../../../tests/balanced-world.ts";
import { idle } from "../../../tests/idle.ts";
import type { CallOptions } from "../../../tests/world.ts";
import type { Owner } from "../../resources/account/accounts.ts";

const PATH = "/v2/public-endpoints";

async function setup(share: object = {}, options: BalancedOptions = {}) {
  const world = await setupBalanced(options);
  const keys: Record<string, string> = {};
  const accounts: Record<string, string> = {};
  const owners: Record<string, Owner> = {};
  for (const name of ["guest", "other"]) {
    const of = await world.services.accounts.create(name, `${name}@localhost`);
    accounts[name] = of.account;
    owners[name] = of;
    keys[name] = await world.newKey({ of });
  }
  const close = { headers: { connection: "close" } };
  const body = { name: "a-model", endpointId: world.endpoint, accounts: [accounts.guest], ...share };
  const made = await world.call("POST", PATH, { body, ...close });
  const by = (who: string, method: string, path: string, { headers, ...options }: CallOptions = {}) =>
    world.call(method, `/v2/a-model${path}`, {
      key: keys[who]!,
      ...options,
      headers: { ...(readBy === "Node" && { te: "trailers" }), ...headers },
    });
  const { readBy } = options;
  const chargesOf = (who = "guest") =>
    world.queue.charges({ caller: accounts[who]!, from: 0, to: Number.MAX_SAFE_INTEGER });
  return {
    ...world,
    made,
    keys,
    accounts,
    owners,
    by,
    chargesOf,
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  };
}

/** Tells what it was sent. */
const mirror: RequestListener = (request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    response.setHeader("X-Runpod-Worker-Id", "forged");
    response.setHeader("Set-Cookie", "a=1");
    response.setHeader("Content-Type", "application/json");
    response.end(
      JSON.stringify({ url: request.url, headers: request.headers, body: Buffer.concat(chunks).toString() }),
    );
  });
};

describe.each(READ_BY)("a request that was read by %s", (readBy) => {
  test("reaches the worker without key, cookies and address of the guest, and says nothing of the worker", async () => {
    await using world = await setup({}, { readBy, env: { MILLRACE_FORWARD_AUTH: "true" } });
    world.worker("w1", mirror);
    const key = world.keys.guest!;
    const headers = {
      ...{ cookie: "session=1; other=2", "x-real-ip": "10.1.1.1", forwarded: "for=10.1.1.1" },
      ...{ "x-forwarded-for": "10.1.1.1", "x-millrace-key": key, "x-copy": `Bearer ${key}`, "x-mine": "stays" },
      "x-runpod-worker-id": "strict w9",
    };
    const {
      status,
      json,
      headers: answer,
    } = await world.by("guest", "POST", `/v1/do?a=1&api_key=${key}`, {
      ...{ headers, body: { n: 1 } },
    });
    expect([status, json.url, json.body]).toEqual([200, "/v1/do?a=1", '{"n":1}']);
    expect(JSON.stringify(json)).not.toContain(key);
    expect(json.headers).toMatchObject({ "x-mine": "stays", "x-forwarded-prefix": "/v2/a-model" });
    for (const name of ["authorization", "cookie", "x-forwarded-for", "x-real-ip", "forwarded", "x-copy"])
      expect(json.headers).not.toHaveProperty(name);
    for (const name of ["x-runpod-worker-id", "x-millrace-worker-id", "set-cookie"])
      expect(answer.has(name)).toBe(false);
    // The owner's own requests are as before, by name and by id.
    for (const path of ["/v2/a-model/x", `/v2/${world.endpoint}/x`]) {
      const own = await world.call("GET", path, { headers: readBy === "Node" ? { te: "trailers" } : {} });
      expect(own.headers.get("x-millrace-worker-id")).toBe("w1");
      expect(own.json.headers.authorization).toContain("mlr_");
    }
  });
});

test("is shared and listed as what it is", async () => {
  await using world = await setup();
  expect([world.made.status, world.made.json.type]).toEqual([201, "LOAD_BALANCER"]);
  const { json } = await world.call("GET", `${PATH}/a-model`, { key: world.keys.guest! });
  expect(json).toMatchObject({ type: "LOAD_BALANCER", own: false });
  expect(json).not.toHaveProperty("endpointId");
});

test.each([
  ["a price for tokens", { price: { perMillionInputTokens: 1 } }],
  ["workers for each account", { workerPerAccount: true }],
])("refuses %s", async (_, share) => {
  await using world = await setup(share);
  expect(world.made.status).toBe(400);
  expect((await world.call("POST", PATH, { body: { name: "b-model", endpointId: world.endpoint } })).status).toBe(201);
  expect((await world.call("PATCH", `${PATH}/b-model`, { body: share })).status).toBe(400);
});

describe("access", () => {
  test("a stranger, a key without the scope, a narrowed key and no key get nothing", async () => {
    await using world = await setup();
    world.worker("w1", mirror);
    const of = world.owners.guest!;
    const narrow = (endpoints: string[]) => world.newKey({ of, endpoints });
    const ask = async (key: string) => (await world.call("GET", "/v2/a-model/x", { key })).status;
    expect(await ask(await world.newKey({ of, scopes: ["pods:read"] }))).toBe(403);
    expect(await ask(await narrow(["aaaaaaaaaaaaaa"]))).toBe(403);
    expect(await ask(await narrow(["a-model"]))).toBe(200);
    expect((await world.by("other", "GET", "/x")).status).toBe(404);
    expect((await world.call("GET", "/v2/a-model/x", { key: null })).status).toBe(401);
    expect((await world.call("GET", `/v2/${world.endpoint}/x`, { key: world.keys.guest! })).status).toBe(404);
    expect((await world.call("GET", "/v2/a-model/../a-model/x", { key: world.keys.other! })).status).toBe(404);
  });

  test("ends with the sharing", async () => {
    await using world = await setup();
    world.worker("w1", mirror);
    expect((await world.by("guest", "GET", "/x")).status).toBe(200);
    await world.call("DELETE", `${PATH}/a-model`);
    expect((await world.by("guest", "GET", "/x")).status).toBe(404);
  });
});

describe("errors", () => {
  test("name no worker and not how it ended", async () => {
    await using world = await setup();
    const worker = world.worker("secret-worker", () => worker.die("exit 137 on machine rack-7"));
    const { status, text } = await world.by("guest", "GET", "/x");
    expect([status, text]).toEqual([502, expect.stringContaining("did not answer")]);
    expect(text).not.toMatch(/secret-worker|137|rack/);
  });

  test("that no worker is free says so in general words", async () => {
    await using world = await setup();
    world.worker("secret-worker", mirror, { ready: false });
    const asked = world.by("guest", "GET", "/x");
    await idle();
    await world.clock.advance(120_000);
    const { status, json, text } = await asked;
    expect([status, json.error]).toEqual([400, "no workers available"]);
    expect(text).not.toContain("secret-worker");
  });
});

describe("money", () => {
  const price = { perRequest: 0.5, perSecond: 0.01 };

  test("a request is charged once, with its time, before its answer ends", async () => {
    await using world = await setup({ price });
    world.worker("w1", async (_, response) => {
      response.write("begun ");
      await world.clock.advance(2000);
      response.end("done");
    });
    expect((await world.by("guest", "GET", "/x")).text).toBe("begun done");
    expect(await world.chargesOf()).toMatchObject([
      { share: "a-model", endpoint: world.endpoint, requests: 1, executionMs: 2000, amount: 520_000_000 },
    ]);
    const { json: use } = await world.call("GET", `${PATH}/a-model/use`);
    expect(use).toMatchObject({ income: 0.52, use: [{ accountId: world.accounts.guest, requests: 1, amount: 0.52 }] });
  });

  test("the account's own requests, failures of the worker and refusals are free", async () => {
    await using world = await setup({ price });
    world.worker("w1", ({ url }, response) => {
      response.statusCode = url === "/fails" ? 500 : 200;
      response.end();
    });
    await world.call("GET", "/v2/a-model/x");
    await world.by("guest", "GET", "/fails");
    await world.by("other", "GET", "/x");
    expect(await world.chargesOf()).toEqual([]);
    await world.by("guest", "GET", "/missing");
    expect(await world.chargesOf()).toMatchObject([{ requests: 1 }]);
  });

  test("a guest who leaves pays for the time", async () => {
    await using world = await setup({ price });
    const begun = Promise.withResolvers<void>();
    world.worker("w1", () => begun.resolve());
    const client = new AbortController();
    const asked = world.by("guest", "GET", "/x", { signal: client.signal }).catch(() => "left");
    await begun.promise;
    await world.clock.advance(3000);
    client.abort();
    expect(await asked).toBe("left");
    await idle();
    expect(await world.chargesOf()).toMatchObject([{ requests: 0, executionMs: 3000, amount: 30_000_000 }]);
  });

  test("a guest who leaves in the middle of the answer pays for the request too", async () => {
    await using world = await setup({ price });
    world.worker("w1", (_, response) => void response.write("all but the last byte"));
    const client = new AbortController();
    const headers = { authorization: `Bearer ${world.keys.guest!}` };
    const answer = await fetch(`${world.url}/v2/a-model/x`, { headers, signal: client.signal });
    expect(answer.status).toBe(200);
    await world.clock.advance(3000);
    client.abort();
    await idle();
    expect(await world.chargesOf()).toMatchObject([{ requests: 1, executionMs: 3000, amount: 530_000_000 }]);
  });

  test("of many requests at once, an account gets no more than it can pay for", async () => {
    await using world = await setup({ price });
    const held = Promise.withResolvers<void>();
    world.worker("w1", (_, response) => void held.promise.then(() => response.end()));
    await world.call("PATCH", "/v2/account", { key: world.keys.guest!, body: { spendLimit: 1 } });
    const asked = Array.from({ length: 6 }, () => world.by("guest", "GET", "/x"));
    await idle();
    held.resolve();
    const statuses = (await Promise.all(asked)).map(({ status }) => status).sort();
    expect(statuses).toEqual([200, 200, 402, 402, 402, 402]);
  });

  test("an account with nothing left to spend is refused", async () => {
    await using world = await setup({ price });
    world.worker("w1", mirror);
    await world.call("PATCH", "/v2/account", { key: world.keys.guest!, body: { spendLimit: 0.4 } });
    expect((await world.by("guest", "GET", "/x")).status).toBe(200);
    await world.clock.advance(1500);
    const refused = await world.by("guest", "GET", "/x");
    expect([refused.status, refused.text]).toEqual([402, expect.stringContaining("Spend limit")]);
  });
});

describe("limits", () => {
  test("of requests in a minute and at once hold for each account", async () => {
    await using world = await setup({ everyone: true, limits: { requestsPerMinute: 3, jobsAtOnce: 1 } });
    const held = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    world.worker("w1", async ({ url }, response) => {
      if (url === "/slow") begun.resolve();
      if (url === "/slow") await held.promise;
      response.end();
    });
    const slow = world.by("guest", "GET", "/slow");
    await begun.promise;
    expect((await world.by("guest", "GET", "/x")).json.error ?? "").toContain("too many requests at once");
    expect((await world.by("other", "GET", "/x")).status).toBe(200);
    held.resolve();
    expect((await slow).status).toBe(200);
    for (const expected of [200, 200, 429]) expect((await world.by("guest", "GET", "/x")).status).toBe(expected);
  });

  test("guests wait while all workers have their number of requests, and their accounts take turns", async () => {
    await using world = await setup({ everyone: true }, { requestCount: 1 });
    const order: string[] = [];
    const ends: (() => void)[] = [];
    const arrived = () => new Promise<void>((resolve) => waiting.push(resolve));
    const waiting: (() => void)[] = [];
    world.worker("w1", ({ url }, response) => {
      order.push(url!);
      ends.push(() => response.end());
      waiting.shift()?.();
    });
    const first = arrived();
    const asked = [0, 1, 2, 3].map((i) => world.by("guest", "GET", `/greedy-${i}`));
    await first;
    asked.push(world.by("other", "GET", "/modest"));
    await idle();
    for (let i = 0; i < 4; i++) {
      const next = arrived();
      ends[i]!();
      await next;
    }
    ends[4]!();
    await Promise.all(asked);
    expect(order.slice(0, 3)).toContain("/modest");
    expect(order).toHaveLength(5);
  });
});
