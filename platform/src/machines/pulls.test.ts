/** What is reported while an image is being pulled: the seconds, the bytes, and that a registry sends nothing. */
import { expect, test } from "vitest";
import { setupFleet } from "../../tests/fleet-world.ts";
import { CPU_POD, setupPods } from "../../tests/pod-world.ts";
import { FakeClock } from "../kernel/clock.ts";
import { FakeRegistry } from "../ports/compute/fake-registry.ts";
import type { Bringing } from "../ports/compute/images.ts";
import { Pulls } from "./pulls.ts";

const MB = 1_000_000;
const IMAGE = "alpine:3";

/** A registry that sends as much as the test says, when the test says so. */
function slowRegistry() {
  const registry = new FakeRegistry();
  registry.put(IMAGE, "content");
  const { promise, resolve: finish } = Promise.withResolvers<void>();
  let pulling: Bringing | undefined;
  registry.pace = (bringing) => {
    pulling = bringing;
    bringing.progress("asking the registry");
    return promise;
  };
  const send = (bytes: number, total: number, isAll = false) => pulling!.arrived!({ bytes, total, isAll });
  return { registry, send, finish };
}

test("a job's wait reason has the bytes and the seconds, then the silence of the registry, then neither", async () => {
  const { registry, send, finish } = slowRegistry();
  await using world = await setupFleet({ machine: { registry, can: { preparing: true } }, endpoint: { image: IMAGE } });
  const job = await world.submit();
  await world.settle();
  const reason = async () => (await world.status(job)).waitReason;
  await world.pass(2);
  expect(await reason()).toBe("pulling image alpine:3: asking the registry (2 s)");
  await world.pass(40);
  expect(await reason()).toBe("pulling image alpine:3: the registry has sent nothing for 42 s");
  send(12 * MB, 80 * MB);
  expect(await reason()).toBe("pulling image alpine:3: 12 MB of 80 MB after 42 s");
  await world.pass(30);
  // Reporting the same numbers again does not mean that the registry sent something.
  send(12 * MB, 80 * MB);
  expect(await reason()).toBe("pulling image alpine:3: 12 MB of 80 MB; the registry has sent nothing for 30 s");
  send(80 * MB, 80 * MB, true);
  await world.pass(30);
  expect(await reason()).toBe("pulling image alpine:3: 80 MB of 80 MB after 102 s, unpacking");
  finish();
  await world.settle();
  expect(await reason()).toMatch(/^worker starting/);
});

test("a Pod's status reason says the same", async () => {
  const { registry, send, finish } = slowRegistry();
  await using world = await setupPods({ machine: { registry, can: { preparing: true } } });
  const { id } = await world.create({ ...CPU_POD, image: IMAGE });
  send(1.26 * MB, 3 * MB);
  await world.pass(5);
  expect((await world.pod(id)).statusReason).toBe("pulling image alpine:3: 1.3 MB of 3 MB after 5 s");
  await world.pass(15);
  expect((await world.pod(id)).statusReason).toBe(
    "pulling image alpine:3: 1.3 MB of 3 MB; the registry has sent nothing for 20 s",
  );
  finish();
  await world.settle();
  expect(await world.pod(id)).toMatchObject({ status: "RUNNING", statusReason: null });
});

test("a registry that does not answer the first question is told of too", async () => {
  const { registry } = slowRegistry();
  registry.silent = true;
  await using world = await setupFleet({ machine: { registry, can: { preparing: true } }, endpoint: { image: IMAGE } });
  const job = await world.submit();
  await world.settle();
  await world.pass(6);
  expect((await world.status(job)).waitReason).toBe("pulling image alpine:3: asking its registry (6 s)");
});

test("programs read the same as data", async () => {
  const clock = new FakeClock();
  const pulls = new Pulls(clock);
  const pull = pulls.follow("one", IMAGE);
  expect(pulls.reasonOf("one")).toBeUndefined();
  pull.asking();
  pull.arrived({ bytes: 12 * MB, total: 80 * MB, isAll: false });
  await clock.advance(4_000);
  const sizes = { bytes: 12 * MB, totalBytes: 80 * MB };
  expect(pulls.reasonOf("one")).toMatchObject({ code: "pulling-image", facts: { image: IMAGE, seconds: 4, ...sizes } });
  await clock.advance(26_000);
  expect(pulls.reasonOf("one")).toMatchObject({
    code: "registry-slow",
    facts: { image: IMAGE, seconds: 30, ...sizes },
  });
  pulls.end("one");
  expect(pulls.reasonOf("one")).toBeUndefined();
});
