/** Workers that cannot start, die, hang or are unfit: what happens to their jobs, and what is reported. */
import { describe, expect, test } from "vitest";
import { setupFleet } from "../../../../tests/fleet-world.ts";
import { pause } from "../../../kernel/wait.ts";
import { exitsAfter } from "../../../ports/compute/fake-compute.ts";
import type { FakeInstance } from "../../../ports/compute/fake-instance.ts";
import { MemoryStore } from "../../../ports/store/memory-store.ts";

const SECRET = { name: "hub", value: "hf_first" };
const WITH_SECRET = { env: { TOKEN: "{{ MILLRACE_SECRET_hub }}" } };

describe("a handler that exits at start", () => {
  test("is the reason, with its last lines, within seconds: in status, requests, health, log and the worker's own log", async () => {
    await using world = await setupFleet({ machine: { behaviour: exitsAfter(100, 7, ["loading", "no such model"]) } });
    const job = await world.submit();
    await world.pass(3);
    const reason = "crash loop: exit 7, last lines: loading | no such model";
    const told = { waitReason: reason, waitReasonCode: "crash-loop" };
    expect(await world.status(job)).toMatchObject(told);
    expect(await world.health()).toMatchObject(told);
    const { requests } = (await world.call("GET", `/v2/${world.endpoint}/requests`)).json;
    expect(requests[0].waitReason).toBe(reason);
    // The output of the program may contain a secret, so the server's own log only says how it ended.
    expect(world.logged.filter((line) => line.includes('"reason":"crash loop: exit 7"'))).toHaveLength(1);
    expect(world.logged.filter((line) => line.includes("no such model"))).toEqual([]);
    expect(await world.log(world.started[0]!)).toEqual([
      "[starting host:/app (release 1)]",
      "loading",
      "no such model",
      "[failed: exit 7, last lines: loading | no such model]",
    ]);
  });

  test("is told with its last lines also where it has ended before its driver says that it was started", async () => {
    const behaviour = (instance: FakeInstance) => {
      instance.write("no such model\n");
      instance.exit({ code: 7 });
    };
    await using world = await setupFleet({ machine: { behaviour } });
    const job = await world.submit();
    await world.pass(3);
    expect((await world.status(job)).waitReason).toBe("crash loop: exit 7, last lines: no such model");
  });

  test("is told with its last lines also where those come seconds late, as from an engine that has much to do", async () => {
    await using world = await setupFleet({ machine: { behaviour: exitsAfter(100, 7, ["no such model"]) } });
    const read = world.compute.logs.bind(world.compute);
    world.compute.logs = async function* (id, options) {
      await pause(world.clock, 5000, options.signal);
      yield* read(id, options);
    };
    const job = await world.submit();
    await world.pass(15);
    expect((await world.status(job)).waitReason).toBe("crash loop: exit 7, last lines: no such model");
  });

  test("is started ever more slowly: a few times in the first minute, then once a minute, however many jobs wait", async () => {
    await using world = await setupFleet({
      machine: { behaviour: exitsAfter(0, 1) },
      endpoint: { workers: { max: 9 } },
    });
    for (let i = 0; i < 20; i++) await world.submit();
    await world.pass(60);
    const first = world.started.length;
    await world.pass(180);
    expect([first <= 7, world.started.length - first <= 4]).toEqual([true, true]);
    expect(first).toBeGreaterThan(3);
    expect(await world.compute.list()).toEqual([]);
  });

  test("is tried at once in a new release, and its failures are forgotten", async () => {
    await using world = await setupFleet({ machine: { behaviour: exitsAfter(0, 1) } });
    await world.submit();
    await world.pass(40);
    const before = world.started.length;
    world.compute.behaviour = () => {};
    await world.change({ env: { FIXED: "yes" } });
    expect(world.started.length).toBe(before + 1);
    expect((await world.records()).map(({ state }) => state)).toEqual(["STARTING"]);
  });

  test("no longer counts once a worker has proven healthy", async () => {
    await using world = await setupFleet({ machine: { behaviour: exitsAfter(0, 1) } });
    const job = await world.submit();
    await world.pass(5);
    world.compute.behaviour = () => {};
    await world.pass(20);
    const worker = world.running()[0]!;
    await worker.take();
    for (let i = 0; i < 12; i++) {
      await worker.ping([job]);
      await world.pass(1);
    }
    expect((await world.records()).map(({ state }) => state)).toEqual(["READY"]);
  });
});

describe("a worker that dies with a job", () => {
  test("costs the job an attempt, which runs again elsewhere", async () => {
    await using world = await setupFleet();
    const job = await world.submit();
    await world.settle();
    const first = world.running()[0]!;
    await first.take();
    first.instance.exit({ signal: "SIGKILL" });
    await world.pass(2);
    const second = world.running()[0]!;
    expect(second.id).not.toBe(first.id);
    expect((await second.take())?.id).toBe(job);
    await second.done(job);
    expect(await world.status(job)).toMatchObject({ status: "COMPLETED", retries: 1 });
    expect((await world.health()).jobs.retried).toBe(1);
  });

  test("fails the job with the reason when it is the third", async () => {
    await using world = await setupFleet();
    const job = await world.submit();
    for (let i = 0; i < 3; i++) {
      await world.pass(5);
      const worker = world.running()[0]!;
      await worker.take();
      worker.instance.exit({ code: 139 });
      await world.settle();
    }
    const { status, error } = await world.status(job);
    expect([status, error]).toEqual([
      "FAILED",
      expect.stringMatching(/ended \(exit 139\) while processing the job; given up after 3 attempts$/),
    ]);
  });

  test("that ran well for a while is replaced at once", async () => {
    await using world = await setupFleet();
    const job = await world.submit();
    await world.settle();
    const worker = world.running()[0]!;
    await worker.take();
    await world.pass(10);
    await worker.ping([job]);
    worker.instance.exit({ signal: "SIGKILL" });
    await world.settle();
    expect(world.running()).toHaveLength(1);
  });
});

describe("secrets at boot", () => {
  test("have the value of that moment: a running worker keeps its own, the next one has the new", async () => {
    await using world = await setupFleet();
    const { id } = (await world.call("POST", "/v2/account/secrets", { body: SECRET })).json;
    await world.change({ ...WITH_SECRET, workers: { min: 1, max: 3 } });
    const [first] = world.running();
    await world.call("PATCH", `/v2/account/secrets/${id}`, { body: { value: "hf_second" } });
    await world.change({ workers: { min: 2 } });
    expect(world.running().map(({ env }) => env.TOKEN)).toEqual(["hf_first", "hf_second"]);
    expect(world.running()[0]!.id).toBe(first!.id);
  });

  test("that are missing fail the boot with the reason, and the next try after they were made succeeds", async () => {
    await using world = await setupFleet({ endpoint: WITH_SECRET });
    const job = await world.submit();
    await world.settle();
    expect(await world.status(job)).toMatchObject({
      waitReason: 'boot failed: secret "hub" does not exist',
      waitReasonCode: "secret-missing",
    });
    expect(world.started).toEqual([]);
    await world.call("POST", "/v2/account/secrets", { body: SECRET });
    await world.pass(2);
    expect(world.running()).toHaveLength(1);
  });

  test("never reach the records, the server's log or the worker's", async () => {
    await using world = await setupFleet({ machine: { behaviour: exitsAfter(0, 1) } });
    await world.call("POST", "/v2/account/secrets", { body: SECRET });
    await world.change({ ...WITH_SECRET, workers: { min: 1, max: 1 } });
    await world.pass(2);
    const written = [...(await world.records()), ...world.logged, ...(await world.log(world.started[0]!))];
    expect(JSON.stringify(written)).not.toContain(SECRET.value);
  });
});

test("a start that the machine refuses is the reason", async () => {
  await using world = await setupFleet();
  world.compute.refuse("images need Docker, which is not installed");
  const job = await world.submit();
  await world.settle();
  expect(await world.status(job)).toMatchObject({
    waitReason: "boot failed: images need Docker, which is not installed",
    waitReasonCode: "start-refused",
  });
});

test("a worker that never asks for work is ended after the init timeout of its endpoint", async () => {
  await using world = await setupFleet({ endpoint: { env: { RUNPOD_INIT_TIMEOUT: "30" } } });
  const job = await world.submit();
  await world.settle();
  const [worker] = world.running();
  worker!.instance.write("downloading weights\n");
  await world.pass(29);
  expect(worker!.instance.exited).toBe(false);
  await world.pass(1);
  expect(worker!.instance.exited).toBe(true);
  expect((await world.status(job)).waitReason).toBe(
    "worker failed: did not ask for work within 30 s, last lines: downloading weights",
  );
});

describe("an init timeout from a secret", () => {
  const PATIENCE = { env: { MILLRACE_INIT_TIMEOUT: "{{ MILLRACE_SECRET_patience }}" } };
  const setupSecret = async (value: string) => {
    const world = await setupFleet({ endpoint: PATIENCE });
    await world.call("POST", "/v2/account/secrets", { body: { name: "patience", value } });
    const job = await world.submit();
    await world.settle();
    return { world, job };
  };

  test("holds", async () => {
    const { world } = await setupSecret("30");
    await using _ = world;
    const [worker] = world.running();
    await world.pass(29);
    expect(worker!.instance.exited).toBe(false);
    await world.pass(1);
    expect(worker!.instance.exited).toBe(true);
  });

  test("fails the boot when it makes no sense, without telling the secret", async () => {
    const { world, job } = await setupSecret("30 s");
    await using _ = world;
    expect(world.started).toEqual([]);
    expect((await world.status(job)).waitReason).toBe(
      "boot failed: 'MILLRACE_INIT_TIMEOUT' must be a whole number of seconds from 1 to 86400.",
    );
  });
});

test("a worker that says it is not fit fails with its reason", async () => {
  await using world = await setupFleet();
  const job = await world.submit();
  await world.settle();
  const [worker] = world.running();
  await worker!.ask("GET ping", { query: "&status=unhealthy&check=memory&reason=only%201%20GB%20free" });
  worker!.instance.exit({ code: 1 });
  await world.settle();
  expect(await world.status(job)).toMatchObject({
    waitReason: "worker failed: not fit to work: memory failed: only 1 GB free",
    waitReasonCode: "worker-failed",
  });
  expect(world.logged.filter((line) => line.includes("only 1 GB"))).toEqual([]);
});

test("a worker that asked to be replaced gets nothing, however soon it asks again", async () => {
  const store = new MemoryStore();
  await using world = await setupFleet({ store, endpoint: { workers: { max: 1 } } });
  const [first, second] = [await world.submit(), await world.submit()];
  await world.settle();
  const [worker] = world.running();
  await worker!.take();
  const open = Promise.withResolvers<void>();
  const list = store.list.bind(store);
  // Reading the records takes a while, as in a busy database.
  await world.clock.advance(900);
  world.services.workerRecords.instances.forget();
  store.list = async (listing) => {
    await open.promise;
    return list(listing);
  };
  await world.clock.advance(100);
  await worker!.done(first, { output: 1, stopPod: true });
  expect(await world.after(1, worker!.take())).toBeUndefined();
  open.resolve();
  await world.pass(1);
  expect((await world.running()[0]!.take())?.id).toBe(second);
});

describe("a worker whose record changes in the moment in which it asks to be replaced", () => {
  const ONE = { workers: { max: 1 } };

  test("is replaced: its first answer, still being written, does not undo that", async () => {
    const store = new MemoryStore();
    await using world = await setupFleet({ store, endpoint: ONE });
    const first = await world.submit();
    await world.settle();
    const [worker] = world.running();
    const open = Promise.withResolvers<void>();
    const commit = store.commit.bind(store);
    // Writes take a while and happen in order, as on a busy disk.
    store.commit = async (writes) => {
      await open.promise;
      return commit(writes);
    };
    await worker!.take();
    await world.settle();
    expect((await world.record(worker!.id))?.state).toBe("STARTING");
    await worker!.done(first, { output: 1, stopPod: true });
    await world.settle();
    open.resolve();
    await world.settle();
    const second = await world.submit();
    await world.pass(1);
    expect(worker!.instance.exited).toBe(true);
    expect((await world.running()[0]!.take())?.id).toBe(second);
  });

  test("is replaced: a store that could not write it down is asked again", async () => {
    const store = new MemoryStore();
    await using world = await setupFleet({ store, endpoint: ONE });
    const first = await world.submit();
    await world.settle();
    const [worker] = world.running();
    await worker!.take();
    await world.settle();
    const commit = store.commit.bind(store);
    store.commit = () => Promise.reject(new Error("no space left"));
    await worker!.done(first, { output: 1, stopPod: true });
    await world.settle();
    store.commit = commit;
    const second = await world.submit();
    await world.pass(2);
    expect(worker!.instance.exited).toBe(true);
    expect((await world.running()[0]!.take())?.id).toBe(second);
  });
});

test("a worker that asks to be replaced is, after its job", async () => {
  await using world = await setupFleet({ endpoint: { workers: { min: 1, max: 1 } } });
  const job = await world.submit();
  await world.settle();
  const [worker] = world.running();
  await worker!.take();
  await worker!.done(job, { output: 1, stopPod: true });
  await world.pass(1);
  expect([worker!.instance.exited, world.running().length, world.started.length]).toEqual([true, 1, 2]);
  expect(await world.log(worker!.id)).toContain("[ending: its handler asked for a fresh worker]");
});

test("a worker that cannot stop a cancelled job is ended and replaced", async () => {
  await using world = await setupFleet({ endpoint: { workers: { min: 1, max: 1 } } });
  const job = await world.submit();
  await world.settle();
  const [worker] = world.running();
  await worker!.take();
  await world.call("POST", `/v2/${world.endpoint}/cancel/${job}`);
  await worker!.ping([job]);
  await world.pass(10);
  expect(worker!.instance.exited).toBe(false);
  await worker!.ping([job]);
  await world.pass(1);
  expect([worker!.instance.exited, world.running().length]).toEqual([true, 1]);
});

test("a worker that runs and is not heard of any more is ended, and its job runs elsewhere", async () => {
  await using world = await setupFleet();
  const job = await world.submit();
  await world.settle();
  const [worker] = world.running();
  await worker!.take();
  await world.pass(95);
  expect(worker!.instance.exited).toBe(true);
  expect((await world.running()[0]!.take())?.id).toBe(job);
});

test("a stop that never ends does not keep its worker's place for ever", async () => {
  await using world = await setupFleet({ endpoint: { workers: { idleTimeout: 1 } } });
  const job = await world.submit();
  await world.settle();
  const [worker] = world.running();
  await worker!.take();
  await worker!.done(job);
  world.compute.hangsOnStop = true;
  await world.pass(20);
  expect([await world.compute.list(), await world.records()]).toEqual([[], []]);
  world.compute.hangsOnStop = false;
});

test("each boot's key opens its own routes alone", async () => {
  await using world = await setupFleet({ endpoint: { workers: { min: 2, max: 2 } } });
  await world.settle();
  const [one, two] = world.running();
  const key = one!.env.RUNPOD_AI_API_KEY!;
  expect((await one!.ask("GET ping")).status).toBe(200);
  expect((await world.after(5, two!.ask("GET ping", { key }))).status).toBe(401);
  expect((await world.call("GET", "/v2/serverless", { key })).status).toBe(401);
});
