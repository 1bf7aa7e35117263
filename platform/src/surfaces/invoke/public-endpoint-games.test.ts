/** Games with money and names of shared endpoints: neither a caller nor an owner gets something for nothing from the other. */
import { once } from "node:events";
import { request } from "node:http";
import { describe, expect, test } from "vitest";
import { setupJobs } from "../../../tests/job-world.ts";

const PATH = "/v2/public-endpoints";
const DAY = 24 * 3_600_000;

async function setup(share: object = {}, payloadLimits?: string) {
  const world = await setupJobs({ rateLimits: "off", ...(payloadLimits && { payloadLimits }) });
  const accountOf = async (name: string) => {
    const of = await world.services.accounts.create(name, `${name}@localhost`);
    return { account: of.account, key: await world.newKey({ of }) };
  };
  const [guest, other] = [await accountOf("guest"), await accountOf("other")];
  await world.call("POST", PATH, { body: { name: "a-model", endpointId: world.endpoint, everyone: true, ...share } });
  const by = (key: string, method: string, path: string, body?: unknown) =>
    world.call(method, `/v2/a-model${path}`, { key, ...(body !== undefined && { body }) });
  const submit = async (key = guest.key) => (await by(key, "POST", "/run", { input: {} })).json.id as string;
  const charges = () => world.queue.charges({ caller: guest.account, from: 0, to: Number.MAX_SAFE_INTEGER });
  return { ...world, guest, other, by, submit, charges, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() };
}

describe("a caller", () => {
  const price = { perRequest: 1, perMillionInputTokens: 100, perMillionOutputTokens: 200 };
  const usage = (completion: number) => ({ usage: { prompt_tokens: 30, completion_tokens: completion } });

  test.each([
    [
      "cancels",
      async (world: Awaited<ReturnType<typeof setup>>, id: string) => {
        await world.by(world.guest.key, "POST", `/cancel/${id}`);
      },
    ],
    [
      "lets its time run out",
      async (world: Awaited<ReturnType<typeof setup>>) => {
        await world.clock.advance(20_000);
      },
    ],
  ])("who has read the stream and then %s pays for the request and its tokens", async (_, end) => {
    await using world = await setup({ price });
    const worker = await world.worker();
    const body = { input: {}, policy: { executionTimeout: 10_000 } };
    const { id } = (await world.by(world.guest.key, "POST", "/run", body)).json;
    await worker.take();
    await worker.chunk(id, { text: "nearly", ...usage(6) });
    await worker.chunk(id, { text: "all of it", ...usage(12) });
    await end(world, id);
    expect(await world.charges()).toMatchObject([
      { requests: 1, inputTokens: 30, outputTokens: 12, amount: 1_000_000_000 + 3_000_000 + 2_400_000 },
    ]);
  });

  test("who cancels before the answer begins pays for no request", async () => {
    await using world = await setup({ price });
    const worker = await world.worker();
    const id = await world.submit();
    await worker.take();
    await world.by(world.guest.key, "POST", `/cancel/${id}`);
    expect(await world.charges()).toMatchObject([{ requests: 0, amount: 0 }]);
  });

  test("cannot submit more than it can pay for before the first job ends", async () => {
    await using world = await setup({ price: { perRequest: 1 } });
    const { key } = world.guest;
    await world.call("PATCH", "/v2/account", { key, body: { spendLimit: 3 } });
    const all = await Promise.all(Array.from({ length: 12 }, () => world.by(key, "POST", "/run", { input: {} })));
    const statuses = all.map(({ status }) => status).sort();
    expect(statuses).toEqual([200, 200, 200, ...Array<number>(9).fill(402)]);
  });

  test("pays the price of the moment at which its request is complete, however slowly that comes", async () => {
    await using world = await setup({ price: { perRequest: 1 } });
    const worker = await world.worker();
    const { port } = new URL(world.url);
    const body = '{"input": {}}';
    const headers = { authorization: `Bearer ${world.guest.key}`, "content-length": body.length };
    const slow = request({ port, method: "POST", path: "/v2/a-model/run", headers });
    slow.write(body.slice(0, 5));
    await world.call("PATCH", `${PATH}/a-model`, { body: { price: { perRequest: 5 } } });
    slow.end(body.slice(5));
    const [answer] = await once(slow, "response");
    answer.resume();
    expect(answer.statusCode).toBe(200);
    await worker.done((await worker.take())!.id, { output: 1 });
    expect(await world.charges()).toMatchObject([{ requests: 1, amount: 5_000_000_000 }]);
  });

  test("finds a long output at an address that does not name the endpoint, and needs no key there", async () => {
    await using world = await setup({}, "1,1,1,3");
    const worker = await world.worker();
    const id = await world.submit();
    await worker.take();
    await worker.done(id, { output: "x".repeat(1_200_000) });
    const { json, text } = await world.by(world.guest.key, "GET", `/status/${id}`);
    expect(text).not.toContain(world.endpoint);
    expect(json.output.url).toMatch(/^https:\/\/millrace\.test\/v2\/a-model\/output\//);
    const path = json.output.url.replace("https://millrace.test", "");
    expect((await world.call("GET", path, { key: null })).status).toBe(200);
    expect((await world.call("GET", `${path}x`, { key: null })).status).toBe(401);
    expect((await world.call("GET", path.replace("a-model", "b-model"), { key: null })).status).toBe(401);
  });
});

describe("an owner", () => {
  test("who cancels a caller's job gets nothing for it", async () => {
    await using world = await setup({ price: { perRequest: 1, perSecond: 1 } });
    const worker = await world.worker();
    const id = await world.submit();
    await worker.take();
    world.clock.jump(60_000);
    expect((await world.invoke("POST", `/cancel/${id}`)).json.status).toBe("CANCELLED");
    expect(await world.charges()).toEqual([]);
  });

  test.each([
    ["takes access away", "PATCH", { everyone: false }],
    ["ends the sharing", "DELETE", undefined],
  ])("who %s leaves callers their jobs, and nothing else", async (_, method, body) => {
    await using world = await setup({ price: { perRequest: 1 } });
    const { guest, other, by } = world;
    const worker = await world.worker();
    const [done, waiting] = [await world.submit(), await world.submit()];
    await world.call(method, `${PATH}/a-model`, body && { body });
    await worker.done((await worker.take())!.id, { output: "paid for" });
    expect((await by(guest.key, "GET", `/status/${done}`)).json).toMatchObject({ output: "paid for" });
    expect((await by(guest.key, "GET", `/requests/${done}`)).status).toBe(200);
    expect((await by(guest.key, "POST", `/cancel/${waiting}`)).json).toMatchObject({ status: "CANCELLED" });
    expect((await by(guest.key, "POST", "/run", { input: {} })).status).toBe(404);
    expect((await by(guest.key, "POST", `/retry/${waiting}`)).status).toBe(404);
    expect((await by(guest.key, "GET", "/requests")).status).toBe(404);
    expect((await by(guest.key, "GET", "/health")).status).toBe(404);
    const stranger = await by(other.key, "GET", `/status/${done}`);
    const nothing = await world.call("GET", `/v2/never-was/status/${done}`, { key: other.key });
    expect([stranger.status, stranger.text]).toEqual([404, nothing.text]);
  });

  test.each(["perRequest", "perSecond", "perMillionInputTokens"])(
    "cannot set %s so fine that callers would pay another price than they see",
    async (name) => {
      await using world = await setup();
      for (const wrong of [1e-10, 0.0000000015, 5e-324]) {
        const { status, text } = await world.call("PATCH", `${PATH}/a-model`, { body: { price: { [name]: wrong } } });
        expect([status, text]).toEqual([422, expect.stringContaining(`$.price.${name}: must have at most 9`)]);
      }
      for (const right of [-0, 1e-9, 0.123456789, 999.999999999, 1000]) {
        const { status } = await world.call("PATCH", `${PATH}/a-model`, { body: { price: { [name]: right } } });
        expect([right, status]).toEqual([right, 200]);
      }
    },
  );
});

describe("a name that is no longer shared", () => {
  const own = async (world: Awaited<ReturnType<typeof setup>>) => {
    const body = { name: "mine", image: "host:/app", cpu: [{ id: "cpu3c", vcpuCount: 2 }] };
    return (await world.call("POST", "/v2/serverless", { key: world.other.key, body })).json.id as string;
  };

  test.each([
    ["of the sharing", PATH, "a-model"],
    ["of the endpoint", "/v2/serverless", undefined],
  ])(
    "stays with its account for 30 days after the end %s, so that nobody else gets what is sent to it",
    async (...of) => {
      await using world = await setup();
      const [, path, id = world.endpoint] = of;
      await world.call("DELETE", `${path}/${id}`);
      const body = { name: "a-model", endpointId: await own(world), everyone: true };
      const squat = () => world.call("POST", PATH, { key: world.other.key, body });
      const refused = await squat();
      expect([refused.status, refused.text]).toEqual([400, expect.stringContaining("It is free from")]);
      world.clock.jump(30 * DAY - 1000);
      expect((await squat()).status).toBe(400);
      world.clock.jump(1000);
      expect((await squat()).status).toBe(201);
    },
  );

  test("can be used again by its account at once", async () => {
    await using world = await setup();
    for (let i = 0; i < 2; i++) {
      expect((await world.call("DELETE", `${PATH}/a-model`)).status).toBe(204);
      const body = { name: "a-model", endpointId: world.endpoint };
      expect((await world.call("POST", PATH, { body })).status).toBe(201);
    }
  });

  test("is one of 100 that an account can keep", async () => {
    await using world = await setup();
    await world.call("DELETE", `${PATH}/a-model`);
    for (let i = 0; i < 100; i++) {
      await world.call("POST", PATH, { body: { name: `hoard-${i}`, endpointId: world.endpoint } });
      await world.clock.advance(1);
      await world.call("DELETE", `${PATH}/hoard-${i}`);
    }
    const endpointId = await own(world);
    const take = (name: string) => world.call("POST", PATH, { key: world.other.key, body: { name, endpointId } });
    expect((await take("hoard-0")).status).toBe(400);
    expect((await take("a-model")).status).toBe(201);
  });
});
