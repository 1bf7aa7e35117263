/** Workers of a load-balancing endpoint on a fake machine, with real HTTP over its connections and a clock that the test moves. */
import { createServer, type RequestListener } from "node:http";
import { describe, expect, test } from "vitest";
import { idle } from "../../../../tests/idle.ts";
import { Balancer } from "../../../balancing/balancer.ts";
import { FakeClock } from "../../../kernel/clock.ts";
import { FakeCompute } from "../../../ports/compute/fake-compute.ts";
import { listeningOf } from "../../endpoints/listening.ts";
import { Rotation, type RotationListener } from "./rotation.ts";

const EP = "endpoint";

async function setup(env: Record<string, string> = {}, ports = [80]) {
  const clock = new FakeClock();
  const compute = new FakeCompute(clock);
  const balancer = new Balancer({ clock });
  const failed = (error: unknown) => expect.fail(String(error));
  const heard: string[] = [];
  const told: RotationListener = {
    ready: (worker) => heard.push(`${worker} ready`),
    failed: (worker, reason) => heard.push(`${worker} failed: ${reason.text}`),
    drained: (worker) => heard.push(`${worker} drained`),
    ailing: () => undefined,
  };
  const rotation = new Rotation({ clock, balancer, failed, told, dial: (worker, port) => compute.dial(worker, port) });
  const probes: string[] = [];
  let health = 200;
  const answer: RequestListener = ({ method, url }, response) => {
    probes.push(`${method} ${url}`);
    if (health > 0) response.writeHead(health).end();
  };
  const server = createServer(answer);
  const limits = { vcpu: 1, memoryMb: 512, diskGb: 1 };
  const spec = { image: "host", entrypoint: [], cmd: [], env, limits, gpus: [], ports, account: "a", owner: EP };
  await compute.start("w", { kind: "worker", ...spec });
  const instance = compute.instance("w");
  const listen = (port: number) => instance.listen(port, (connection) => server.emit("connection", connection));
  const join = () => rotation.join({ endpoint: EP, worker: "w", env });
  /** Waits until open requests are answered, since HTTP takes several turns of the event loop. */
  return {
    clock,
    balancer,
    rotation,
    heard,
    probes,
    listen,
    join,
    settle: idle,
    answers: (status: number) => {
      health = status;
    },
    async pass(ms: number) {
      for (let left = ms; left > 0; left -= 1000) {
        await clock.advance(Math.min(1000, left));
        await idle();
      }
    },
    async isTaken() {
      const client = new AbortController();
      const asked = balancer.acquire(EP, { perWorker: 1, gone: client.signal }).then(
        (slot) => {
          slot.release();
          return true;
        },
        () => false,
      );
      client.abort();
      return asked;
    },
    [Symbol.dispose]() {
      rotation.leave("w", "the test is over");
      compute.instance("w").exit({ code: 0 });
    },
  };
}

describe("a worker takes requests", () => {
  test("as soon as its health path answers 200 on port 80, and not before", async () => {
    using world = await setup();
    world.join();
    await world.settle();
    expect([world.heard, await world.isTaken()]).toEqual([[], false]);
    world.listen(80);
    await world.pass(2000);
    expect([world.heard, await world.isTaken()]).toEqual([["w ready"], true]);
    expect(world.probes).toEqual(["GET /ping"]);
  });

  test("on the ports and the path that its environment names", async () => {
    using world = await setup({ PORT: "8000", PORT_HEALTH: "8001", HEALTH_CHECK_PATH: "healthz" }, [8000, 8001]);
    world.listen(8001);
    world.join();
    await world.settle();
    expect([world.heard, world.probes]).toEqual([["w ready"], ["GET /healthz"]]);
  });

  test("not while it answers 204", async () => {
    using world = await setup();
    world.listen(80);
    world.answers(204);
    world.join();
    await world.pass(30_000);
    expect([world.heard, await world.isTaken()]).toEqual([[], false]);
    world.answers(200);
    await world.pass(2000);
    expect([world.heard, await world.isTaken()]).toEqual([["w ready"], true]);
  });

  test("until three checks in a row have failed, and again with the next 200", async () => {
    using world = await setup();
    world.listen(80);
    world.join();
    await world.settle();
    world.answers(500);
    await world.pass(10_000);
    expect(await world.isTaken()).toBe(true);
    await world.pass(5000);
    expect(await world.isTaken()).toBe(false);
    world.answers(200);
    await world.pass(2000);
    expect(await world.isTaken()).toBe(true);
    expect(world.heard).toEqual(["w ready"]);
  });

  test("not while it takes longer than 3 s to answer", async () => {
    using world = await setup();
    world.listen(80);
    world.answers(0);
    world.join();
    await world.pass(4000);
    const waiting = world.balancer.acquire(EP, { perWorker: 1 });
    const refused = expect(waiting).rejects.toThrow("worker w: GET /ping on port 80: no answer in 3 s");
    await world.pass(120_000);
    await refused;
  });

  test("not after a refused connection, until a check at once says that it is well", async () => {
    using world = await setup();
    world.listen(80);
    world.join();
    await world.settle();
    const slot = await world.balancer.acquire(EP, { perWorker: 1 });
    slot.refused("nobody listens");
    slot.release();
    expect(await world.isTaken()).toBe(false);
    await world.settle();
    expect(await world.isTaken()).toBe(true);
  });
});

describe("a worker is given up", () => {
  test("after 8 minutes on the wrong port, and the reason says what was tried", async () => {
    using world = await setup({}, [80, 8000]);
    world.listen(8000);
    world.join();
    await world.pass(479_000);
    expect(world.heard).toEqual([]);
    await world.pass(3000);
    expect(world.heard).toEqual([
      "w failed: not healthy for 8 minutes: GET /ping on port 80: nobody listens on port 80 of w",
    ]);
    expect(world.clock.waiting).toBe(0);
  });
});

describe("the end", () => {
  test("of a drained worker comes with its last request, and it is asked no more", async () => {
    using world = await setup();
    world.listen(80);
    world.join();
    await world.settle();
    const slot = await world.balancer.acquire(EP, { perWorker: 1 });
    expect(world.rotation.drain("w")).toBe(true);
    expect([world.rotation.drain("w"), await world.isTaken()]).toEqual([true, false]);
    slot.release();
    await world.pass(20_000);
    expect([world.rotation.drain("w"), world.heard]).toEqual([false, ["w ready", "w drained"]]);
    expect(world.probes).toHaveLength(1);
  });

  test("of an idle or unknown worker comes at once", async () => {
    using world = await setup();
    world.join();
    expect([world.rotation.drain("w"), world.rotation.drain("nobody")]).toEqual([false, false]);
  });

  test("of a worker leaves no timer behind, even in the middle of a check", async () => {
    using world = await setup();
    world.listen(80);
    world.answers(0);
    world.join();
    await world.settle();
    world.rotation.leave("w", "exit 0");
    await world.pass(3000);
    expect(world.clock.waiting).toBe(0);
  });

  test("a frozen worker is not asked, and joins anew after the thaw", async () => {
    using world = await setup();
    world.listen(80);
    world.join();
    await world.settle();
    world.rotation.freeze("w");
    await world.pass(20_000);
    expect([world.probes, await world.isTaken()]).toEqual([["GET /ping"], false]);
    world.join();
    await world.settle();
    expect(await world.isTaken()).toBe(true);
  });
});

describe("where an application listens", () => {
  test.each([
    [{}, { port: 80, healthPort: 80, healthPath: "/ping" }],
    [{ PORT: "5000" }, { port: 5000, healthPort: 5000, healthPath: "/ping" }],
    [
      { PORT: "5000", PORT_HEALTH: "5001" },
      { port: 5000, healthPort: 5001, healthPath: "/ping" },
    ],
    [
      { PORT: "", PORT_HEALTH: "", HEALTH_CHECK_PATH: "/health?deep=1" },
      { port: 80, healthPort: 80, healthPath: "/health?deep=1" },
    ],
  ])("%j", (env, expected) => expect(listeningOf(env as Record<string, string>)).toEqual(expected));

  test.each([["0"], ["65536"], ["80/http"], ["eighty"], ["-1"]])("PORT=%s is refused", (PORT) =>
    expect(() => listeningOf({ PORT })).toThrow("'PORT' must be a port from 1 to 65535."),
  );
});
