/** What happens to Pods by themselves: figures, idle stops, timers, giving way, storage, and the variables of each boot. */
import { expect, test } from "vitest";
import { CPU_POD, GPU_POD, type PodWorld, setupPods, TWO_GPUS } from "../../../../tests/pod-world.ts";
import type { Caller } from "../../../kernel/caller.ts";
import type { PodTerms } from "../fields.ts";

const owner = ({ owner: { account, user } }: PodWorld): Caller => ({
  account,
  user,
  key: "k",
  grants: ["all"],
  exempt: true,
});

const TERMS: PodTerms = { name: "timed", image: "host:/app", cpu: [{ id: "cpu3c", vcpuCount: 2 }] };
const BOTH_GPUS: PodTerms = { name: "cheap", image: "host:/app", gpu: { types: ["NVIDIA A40"], count: 2 } };

test("what its program uses is measured, in percent of what it was given", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  const { id } = await world.create();
  const [program] = world.running();
  program!.uses = { cpuMs: 0, memoryBytes: 0 };
  await world.pass(6);
  program!.uses = { cpuMs: 2500, memoryBytes: (program!.spec.limits.memoryMb * 1_048_576) / 4 };
  await world.pass(5);
  const { runtime } = await world.pod(id);
  // The program used 2.5 s of processor time in 5 s, on 2 vCPUs.
  expect(runtime).toMatchObject({ cpu: { util: 25 }, memory: { util: 25 }, gpus: [] });
  expect(runtime.uptime).toBeGreaterThanOrEqual(11);
});

test("one that nobody uses for its idleTimeout is stopped, and says so; by default none is", async () => {
  await using world = await setupPods();
  const idle = await world.create({ ...CPU_POD, idleTimeout: 60 });
  const other = await world.create();
  for (const program of world.running()) program.uses = { cpuMs: 10 };
  await world.pass(90);
  expect(await world.pod(idle.id)).toMatchObject({
    status: "EXITED",
    statusReason: "stopped: no use of CPU, GPU, HTTP ports or terminals for 60 s",
    statusReasonCode: "idle-stopped",
  });
  expect((await world.pod(other.id)).status).toBe("RUNNING");
});

test("one that computes is not idle", async () => {
  await using world = await setupPods();
  const { id } = await world.create({ ...CPU_POD, idleTimeout: 60 });
  for (let s = 0; s < 90; s += 5) {
    world.running()[0]!.uses = { cpuMs: s * 500 };
    await world.pass(5);
  }
  expect((await world.pod(id)).status).toBe("RUNNING");
});

test("stopAfter and terminateAfter act at their time", async () => {
  await using world = await setupPods();
  const now = world.clock.now();
  const { pods } = world.services;
  const stopped = await pods.create(owner(world), { ...TERMS, stopAfter: now + 5000 });
  const gone = await pods.create(owner(world), { ...TERMS, terminateAfter: now + 8000 });
  await world.pass(6);
  expect(await world.pod(stopped.id)).toMatchObject({
    status: "EXITED",
    statusReason: "it reached its stopAfter",
    statusReasonCode: "stop-time-reached",
  });
  expect((await world.pod(gone.id)).status).toBe("RUNNING");
  await world.pass(3);
  expect((await world.call("GET", `/v2/pods/${gone.id}`)).status).toBe(404);
  // The timer is used up, so the Pod may be started again.
  await world.act(stopped.id, "start");
  await world.pass(3);
  expect((await world.pod(stopped.id)).status).toBe("RUNNING");
});

test("one whose end is final is an ERROR with the reason, and is not started again by itself", async () => {
  await using world = await setupPods();
  const { id } = await world.create();
  world.running()[0]!.endFor("the server's disk is full: it wrote 2 GB of late");
  await world.pass(600);
  expect(await world.pod(id)).toMatchObject({
    status: "ERROR",
    statusReason: "the server's disk is full: it wrote 2 GB of late",
    statusReasonCode: "filled-disk",
  });
  expect(world.running()).toEqual([]);
  await world.act(id, "start");
  await world.pass(3);
  expect((await world.pod(id)).status).toBe("RUNNING");
});

test("an interruptible Pod gives way: it is asked to end, and is EXITED with the reason", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  const cheap = await world.services.pods.create(owner(world), { ...BOTH_GPUS, interruptible: true });
  await world.settle();
  const creating = world.call("POST", "/v2/pods", { body: { ...GPU_POD, name: "dear" } });
  await world.pass(2);
  const { status, json } = await creating;
  expect(status).toBe(201);
  expect(await world.pod(cheap.id)).toMatchObject({
    status: "EXITED",
    statusReason: "interrupted: gave its place to 'dear'",
    statusReasonCode: "interrupted",
  });
  await world.settle();
  expect((await world.pod(json.id)).status).toBe("RUNNING");
});

test("it gives way to none of its kind, and not where that would not help", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  const { pods } = world.services;
  const cheap = await pods.create(owner(world), { ...BOTH_GPUS, interruptible: true });
  await expect(pods.create(owner(world), { ...BOTH_GPUS, interruptible: true })).rejects.toThrow("No capacity");
  const three = { ...GPU_POD, gpu: { id: "NVIDIA A40", count: 3 } };
  expect((await world.call("POST", "/v2/pods", { body: three })).status).toBe(400);
  expect((await world.pod(cheap.id)).status).toBe("RUNNING");
});

test("each boot has the secrets of its moment; a missing one is an ERROR that names it", async () => {
  await using world = await setupPods();
  const secret = await world.call("POST", "/v2/account/secrets", { body: { name: "token", value: "one" } });
  const { id } = await world.create({ ...CPU_POD, env: { TOKEN: "{{ RUNPOD_SECRET_token }}" } });
  expect(world.running()[0]!.spec.env.TOKEN).toBe("one");
  await world.call("PATCH", `/v2/account/secrets/${secret.json.id}`, { body: { value: "two" } });
  expect(world.running()[0]!.spec.env.TOKEN).toBe("one");
  await world.act(id, "restart");
  expect(world.running()[0]!.spec.env.TOKEN).toBe("two");
  await world.call("DELETE", `/v2/account/secrets/${secret.json.id}`);
  await world.act(id, "restart");
  expect(await world.pod(id)).toMatchObject({
    status: "ERROR",
    statusReason: 'secret "token" does not exist',
    statusReasonCode: "secret-missing",
  });
});

test("it is told where it runs, under both names", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  await world.call("PUT", "/v2/account/ssh-keys", { body: { keys: ["ssh-ed25519 AAAA me", "ssh-rsa BBBB"] } });
  const { id } = await world.create({ ...GPU_POD, startSsh: true, startJupyter: true });
  const { env } = world.running()[0]!.spec;
  expect(env).toMatchObject({
    RUNPOD_POD_ID: id,
    MILLRACE_POD_ID: id,
    RUNPOD_GPU_COUNT: "1",
    RUNPOD_GPU_NAME: "NVIDIA+A40",
    RUNPOD_DC_ID: "EU-RO-1",
    RUNPOD_PUBLIC_IP: "203.0.113.5",
    RUNPOD_VOLUME_ID: "",
    PUBLIC_KEY: "ssh-ed25519 AAAA me\nssh-rsa BBBB",
  });
  expect(env.RUNPOD_POD_HOSTNAME).toMatch(new RegExp(`^${id}-[0-9a-f]{8}$`));
  expect(Number(env.RUNPOD_CPU_COUNT)).toBeGreaterThan(0);
  expect(Number(env.RUNPOD_MEM_GB)).toBeGreaterThan(0);
  expect(env.JUPYTER_PASSWORD).toMatch(/^[0-9a-f]{32}$/);
  await world.change(id, { env: { A: "1" } });
  expect(world.running()[0]!.spec.env).toMatchObject({ A: "1", JUPYTER_PASSWORD: env.JUPYTER_PASSWORD });
});

test("its log goes on over stops and starts, and no line comes twice", async () => {
  await using world = await setupPods();
  const { id } = await world.create();
  world.running()[0]!.write("first\n");
  await world.settle();
  await world.act(id, "stop");
  await world.act(id, "start");
  world.running()[0]!.write("second\n");
  await world.settle();
  expect((await world.log(id)).filter((line) => !line.startsWith("["))).toEqual(["first", "second"]);
});

test("a pull that fails is an ERROR with the reason", async () => {
  await using world = await setupPods();
  world.compute.fail("prepare", new Error("no such image"));
  const { id } = await world.create({ ...CPU_POD, image: "busybox:never" });
  expect(await world.pod(id)).toMatchObject({ status: "ERROR", statusReason: "no such image" });
});

test("it gives way to the worker of a job as well", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  const cheap = await world.services.pods.create(owner(world), { ...BOTH_GPUS, interruptible: true });
  await world.settle();
  const body = { name: "jobs", image: "host:/app", gpu: { id: "NVIDIA A40" } };
  const endpoint = (await world.call("POST", "/v2/serverless", { body })).json.id;
  await world.call("POST", `/v2/${endpoint}/run`, { body: { input: {} } });
  await world.pass(3);
  expect((await world.pod(cheap.id)).statusReason).toBe("interrupted: gave its place to 'jobs'");
  expect(world.running().map(({ spec }) => spec.kind)).toEqual(["worker"]);
});
