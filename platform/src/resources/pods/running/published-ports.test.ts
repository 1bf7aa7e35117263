/** TCP ports of Pods: where they are reached, for how long, and what happens if two Pods want the same. */
import { expect, test } from "vitest";
import { CPU_POD, type PodWorld, setupPods } from "../../../../tests/pod-world.ts";

const SSH_POD = { ...CPU_POD, ports: ["22/tcp", "8888/http"] };
const FEW = { publishedPorts: { first: 20_000, last: 20_003 } };

async function outsideOf(world: PodWorld, pod: string): Promise<number[]> {
  const { runtime } = await world.pod(pod);
  return runtime.ports.flatMap((port: { public: number | null }) => port.public ?? []);
}

test("a Pod is told before it starts where its TCP ports are reached, and so is its owner", async () => {
  await using world = await setupPods();
  const { id } = await world.create(SSH_POD);
  const [outside] = await outsideOf(world, id);
  const { spec } = world.running()[0]!;
  expect(spec.env).toMatchObject({
    RUNPOD_TCP_PORT_22: String(outside),
    MILLRACE_TCP_PORT_22: String(outside),
    RUNPOD_PUBLIC_IP: "203.0.113.5",
  });
  expect(spec.env).not.toHaveProperty("RUNPOD_TCP_PORT_8888");
  const pod = await world.pod(id);
  expect(pod.runtime.ports).toMatchObject([
    { private: 22, public: outside, type: "tcp", ip: "203.0.113.5" },
    { private: 8888, public: null, type: "http", ip: null },
  ]);
  const command = `ssh root@203.0.113.5 -p ${outside}`;
  expect(pod.ssh).toEqual({ proxy: null, direct: { host: "203.0.113.5", port: outside, username: "root", command } });
});

test("it is the same port through stop, start, restart, change, and a restart of the server", async () => {
  await using world = await setupPods();
  const { id } = await world.create(SSH_POD);
  const before = await outsideOf(world, id);
  await world.act(id, "restart");
  expect(await outsideOf(world, id)).toEqual(before);
  await world.act(id, "stop");
  expect((await world.pod(id)).ssh.direct).toBeNull();
  await world.create(SSH_POD);
  await world.act(id, "start");
  expect(await outsideOf(world, id)).toEqual(before);
  await world.change(id, { ports: ["22/tcp", "9000/tcp"] });
  expect((await outsideOf(world, id))[0]).toBe(before[0]);
  await using next = await world.crash({ rebooted: "nothing left" });
  await next.pass(2);
  expect((await outsideOf(next, id))[0]).toBe(before[0]);
});

test("many Pods at once get ports of their own; those of a stopped one stay its own, those of one that is gone are free", async () => {
  await using world = await setupPods({ machine: FEW });
  const made = await Promise.all([1, 2, 3, 4].map(() => world.create(SSH_POD)));
  await world.settle();
  const ports = (await Promise.all(made.map(({ id }) => outsideOf(world, id)))).flat();
  expect(ports.toSorted()).toEqual([20_000, 20_001, 20_002, 20_003]);
  await world.act(made[0].id, "stop");
  const late = await world.create(SSH_POD);
  expect(await world.pod(late.id)).toMatchObject({
    status: "ERROR",
    statusReason: "no port of 20000 to 20003 is free for 22/tcp; MILLRACE_PUBLISHED_PORTS may name more",
    statusReasonCode: "ports-used-up",
  });
  await world.act(made[1].id, "terminate");
  await world.act(late.id, "start");
  expect(await outsideOf(world, late.id)).toEqual([ports[1]]);
});

test("a port that somebody else took on the machine is left to him, and the log says so", async () => {
  await using world = await setupPods({ machine: FEW });
  const { id } = await world.create(SSH_POD);
  const [before] = await outsideOf(world, id);
  await world.act(id, "stop");
  world.compute.ports.strangers.add(before!);
  await world.act(id, "start");
  const [after] = await outsideOf(world, id);
  expect(after).not.toBe(before);
  expect(await world.log(id)).toContain(
    `[port ${before} of the machine is taken by somebody else: it gets another one]`,
  );
  expect(world.running()[0]!.spec.env.RUNPOD_TCP_PORT_22).toBe(String(after));
});

test("one named above 70000 is the same inside and outside", async () => {
  await using world = await setupPods();
  const { id } = await world.create({ ...CPU_POD, ports: ["70000/tcp", "70001/tcp"] });
  const [first, second] = await outsideOf(world, id);
  const [program] = world.running();
  expect(program!.spec.env).toMatchObject({
    RUNPOD_TCP_PORT_70000: String(first),
    RUNPOD_TCP_PORT_70001: String(second),
  });
  expect(program!.spec.publish).toEqual([
    { port: first, outside: first },
    { port: second, outside: second },
  ]);
  expect((await world.pod(id)).runtime.ports[0]).toMatchObject({ private: first, public: first });
});

test.each(["65536/tcp", "69999/tcp", "70000/http"])("%s is refused", async (port) => {
  await using world = await setupPods();
  const { status, json } = await world.call("POST", "/v2/pods", { body: { ...CPU_POD, ports: [port] } });
  expect([status, json.errors]).toEqual([
    422,
    [
      "$.ports[0]: must be a port from 1 to 65535, or with tcp one from 70000 on that stands for the same inside and outside",
    ],
  ]);
});

test("where nothing can be published it starts without, and its log says why", async () => {
  await using world = await setupPods({ machine: { can: { publishing: false } } });
  const { id } = await world.create(SSH_POD);
  expect(await world.pod(id)).toMatchObject({ status: "RUNNING", ssh: { direct: null } });
  expect(await outsideOf(world, id)).toEqual([]);
  expect(await world.log(id)).toContain("[its TCP ports are not reached from outside: this driver publishes no ports]");
});

test("a port that is on record as another Pod's is refused to whoever comes later, from whichever node", async () => {
  await using world = await setupPods({ machine: FEW });
  const pods = await Promise.all([1, 2].map(() => world.create(SSH_POD)));
  const { podRecords } = world.services;
  const [first, second] = await Promise.all(pods.map(({ id }) => podRecords.pods.get(id)));
  const stolen = podRecords.pods.patch(second!, { publicPorts: first!.doc.publicPorts });
  await expect(stolen).rejects.toThrow("key-taken");
});
