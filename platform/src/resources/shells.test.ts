/** Programs that people run in their Pods and workers: where they run, and why there is sometimes nothing to run one in. */
import { once } from "node:events";
import { expect, test } from "vitest";
import { setupFleet } from "../../tests/fleet-world.ts";
import { setupJobs } from "../../tests/job-world.ts";
import { setupPodNodes, sidesOf } from "../../tests/pod-nodes.ts";
import { CPU_POD, type PodWorld, setupPods } from "../../tests/pod-world.ts";
import { played } from "../../tests/terminal-client.ts";
import type { World } from "../../tests/world.ts";
import type { Caller } from "../kernel/caller.ts";
import { reasonOf, SHELL } from "./shells.ts";

const SPEC = { cmd: SHELL, terminal: { columns: 80, rows: 24 } };

const callerIn = ({ owner }: World): Caller => ({
  ...{ account: owner.account, user: owner.user, key: "k", exempt: false },
  grants: ["pods:exec", "serverless:exec"],
});

const openIn = (world: PodWorld, pod: string, spec = SPEC) => world.app.shells.open(callerIn(world), { pod }, spec);

test("in a Pod that runs it gets what is typed, and tells its exit", async () => {
  await using world = await setupPods();
  const { id } = await world.create();
  const program = played(world.running()[0]!);
  const execution = await openIn(world, id);
  expect((await program).spec).toEqual(SPEC);
  execution.stdin.write("ls\n");
  expect(String((await once((await program).input, "data"))[0])).toBe("ls\n");
  (await program).end({ code: 3 });
  expect(await execution.exit).toMatchObject({ code: 3 });
  expect((await once(execution.stdin, "close")).length).toBe(0);
});

test("in a Pod of another node's machine it is run over there", async () => {
  await using nodes = await setupPodNodes();
  const { id } = await nodes.first.create();
  await nodes.first.pass(2);
  const [here, there] = sidesOf(nodes, id);
  const program = played(here.running()[0]!);
  const execution = await openIn(there, id);
  execution.stdin.write("ls\n");
  expect(String((await once((await program).input, "data"))[0])).toBe("ls\n");
  (await program).end({ code: 4 });
  expect(await execution.exit).toMatchObject({ code: 4 });
});

test("when that node is away, it is said which machine is not reachable", async () => {
  await using nodes = await setupPodNodes();
  const { id } = await nodes.first.create();
  await nodes.first.pass(2);
  const [here, there] = sidesOf(nodes, id);
  await here.app.http.close();
  await expect(openIn(there, id)).rejects.toMatchObject({
    code: "no-answer",
    detail: expect.stringContaining("is not reachable"),
  });
});

test("in a worker of the endpoint, and in none that is another's or not there", async () => {
  await using world = await setupFleet({ endpoint: { workers: { min: 1, max: 1 } } });
  await world.pass(2);
  const [worker] = world.running();
  const open = (endpoint: string, id: string) => world.app.shells.open(callerIn(world), { endpoint, worker: id }, SPEC);
  const program = played(worker!.instance);
  const execution = await open(world.endpoint, worker!.id);
  (await program).end({ code: 0 });
  expect(await execution.exit).toMatchObject({ code: 0 });
  const { json } = await world.call("POST", "/v2/serverless", {
    body: { name: "other", image: "host:/app", cpu: [{ id: "cpu3c", vcpuCount: 2 }] },
  });
  for (const [endpoint, id] of [
    [json.id, worker!.id],
    [world.endpoint, "nosuch"],
    ["nosuch", worker!.id],
  ])
    await expect(open(endpoint, id)).rejects.toMatchObject({ code: "not-found" });
});

test("another account's Pod does not exist", async () => {
  await using world = await setupPods();
  const { id } = await world.create();
  const stranger = { ...callerIn(world), account: "another" };
  await expect(world.app.shells.open(stranger, { pod: id }, SPEC)).rejects.toMatchObject({ code: "not-found" });
});

test("a Pod that does not run says what it is instead, and why", async () => {
  await using world = await setupPods();
  const { id } = await world.create();
  await world.act(id, "stop");
  await expect(openIn(world, id)).rejects.toMatchObject({
    code: "wrong-state",
    detail: `Pod ${id} is EXITED: stopped by its owner.`,
  });
});

test("so does a worker that is frozen, and one that waits for room", async () => {
  await using world = await setupFleet({
    machine: { capacity: { vcpu: 2 } },
    endpoint: { workers: { min: 2, max: 2 } },
  });
  await world.pass(2);
  const shells = world.app.shells;
  const why = (worker: string) =>
    shells.find(callerIn(world), { endpoint: world.endpoint, worker }).catch((error) => [error.code, error.detail]);
  const all = await world.services.workerRecords.all();
  const waits = all.find(({ doc }) => doc.state === "WANTED")!;
  expect(await why(waits.id)).toEqual(["wrong-state", `Worker ${waits.id} is WANTED: ${waits.doc.reason!.text}.`]);
  const runs = all.find(({ id }) => id !== waits.id)!;
  const ready = (await world.services.workerRecords.move(runs, "answer"))!;
  await world.services.workerRecords.move(ready, "freeze");
  expect(await why(runs.id)).toEqual([
    "wrong-state",
    `Worker ${runs.id} is frozen: it stands still until a job needs it.`,
  ]);
});

test("what a driver refuses comes with its words", async () => {
  await using world = await setupPods({ machine: { can: { exec: false } } });
  const { id } = await world.create();
  await expect(openIn(world, id)).rejects.toMatchObject({
    code: "wrong-state",
    detail: `Nothing can be run in Pod ${id} now: this driver runs no further programs.`,
  });
});

test("what no program can be given is refused before anything is asked for", async () => {
  await using world = await setupPods();
  const { id } = await world.create();
  const spec = { cmd: ["sh"], env: { "A=B": "1" }, terminal: SPEC.terminal };
  await expect(openIn(world, id, spec)).rejects.toMatchObject({
    code: "rule-broken",
    detail: "the variable 'A=B' cannot be given to a program.",
  });
});

test("what is typed is use of the Pod; a terminal that is only open is not", async () => {
  await using world = await setupPods();
  const { id } = await world.create({ ...CPU_POD, idleTimeout: 60 });
  const [instance] = world.running();
  instance!.uses = { cpuMs: 10 };
  const program = played(instance!);
  const execution = await openIn(world, id);
  (await program).input.resume();
  for (let typed = 0; typed < 3; typed++) {
    await world.pass(40);
    execution.stdin.write("x");
  }
  await world.pass(40);
  expect((await world.pod(id)).status).toBe("RUNNING");
  await world.pass(40);
  expect((await world.pod(id)).status).toBe("EXITED");
  expect(await execution.exit).toMatchObject({ code: null });
});

test("of a program that was not there the reason says so", () => {
  const at = 0;
  expect(reasonOf({ code: 127, at }, ["fish"])).toContain("there is no program 'fish'");
  expect(reasonOf({ code: 126, at }, ["/etc"])).toContain("'/etc' cannot be run");
  expect(reasonOf({ code: 1, at }, ["fish"])).toBeUndefined();
  expect(reasonOf({ code: null, signal: "SIGKILL", at, reason: "out of memory" }, ["x"])).toBe("out of memory");
});

test("in a worker that was started by hand nothing can be run from here", async () => {
  await using world = await setupJobs();
  const worker = await world.worker();
  await world.begun(worker);
  await expect(
    world.app.shells.find(callerIn(world), { endpoint: world.endpoint, worker: worker.id }),
  ).rejects.toMatchObject({ code: "wrong-state", detail: expect.stringContaining("was started by hand") });
});

test("who asks for many at once gets them a few at a time, and another account is not behind all of them", async () => {
  await using world = await setupPods();
  const mine: string[] = [(await world.create()).id, (await world.create()).id];
  const key = await world.strangersKey();
  const { json } = await world.call("POST", "/v2/pods", { body: CPU_POD, key });
  await world.settle();
  const begun: string[] = [];
  for (const instance of world.running()) instance.onExec = () => void begun.push(instance.spec.owner);
  const { account } = (await world.services.podRecords.pods.get(json.id))!;
  const opening = Array.from({ length: 60 }, (_, i) => openIn(world, mine[i % 2]!));
  await world.settle();
  opening.push(world.app.shells.open({ ...callerIn(world), account }, { pod: json.id }, SPEC));
  await world.settle();
  expect(begun).toHaveLength(50);
  await world.clock.advance(300);
  expect(begun.slice(50)).toContain(json.id);
  await world.pass(3);
  expect(begun).toHaveLength(61);
  for (const execution of await Promise.all(opening)) execution.close();
});
