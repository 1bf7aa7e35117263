/** Pods on two nodes of one store: which node acts, and what the other node shows of a Pod. */
import { expect, test } from "vitest";
import { eventsOf } from "../../../../tests/job-world.ts";
import { setupPodNodes, sidesOf } from "../../../../tests/pod-nodes.ts";
import { CPU_POD } from "../../../../tests/pod-world.ts";

test("both find room, each node acts on its own machine, and a third Pod is refused", async () => {
  await using nodes = await setupPodNodes();
  const { first, second } = nodes;
  for (let i = 0; i < 2; i++) await first.create();
  await first.pass(2);
  expect([first.running().length, second.running().length]).toEqual([1, 1]);
  expect((await second.call("POST", "/v2/pods", { body: CPU_POD })).status).toBe(400);
});

test("it is stopped, and its log is read and what it uses is seen, by way of the other node", async () => {
  await using nodes = await setupPodNodes();
  const { id } = await nodes.first.create();
  await nodes.first.pass(2);
  const [here, there] = sidesOf(nodes, id);
  const [program] = here.running();
  program!.write("hello\n");
  program!.uses = { cpuMs: 0, memoryBytes: (program!.spec.limits.memoryMb * 1_048_576) / 2 };
  await here.pass(12);
  expect((await there.pod(id)).runtime.memory.util).toBe(50);
  const response = await fetch(`${there.url}/v2/pods/${id}/logs?source=container`, {
    headers: { authorization: `Bearer ${there.key}` },
  });
  expect(JSON.parse((await eventsOf(response).next()).value!.data).line).toBe("hello");
  await there.act(id, "stop");
  await there.pass(2);
  expect(here.running()).toEqual([]);
});

test("one that another node placed in the same second is stopped with its program", async () => {
  await using nodes = await setupPodNodes();
  const { first, second } = nodes;
  // The second node has just read the instances, and does not know the new one.
  await second.services.instanceRecords.all();
  const { id } = await first.create();
  expect((await second.act(id, "stop")).json.status).toBe("EXITED");
  await first.pass(3);
  expect([...first.running(), ...second.running()]).toEqual([]);
  expect(await first.services.podRecords.instancesOf(id)).toEqual([]);
});
