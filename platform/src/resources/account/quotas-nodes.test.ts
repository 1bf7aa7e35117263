/** Quotas hold when two nodes on one database create things at the same moment. */
import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import { CPU_POD, GPU_POD, type PodWorld, setupPods } from "../../../tests/pod-world.ts";
import { MemoryLogs } from "../../ports/logs/memory-logs.ts";
import { MemorySignals } from "../../ports/signals/memory-signals.ts";
import { MemoryStore } from "../../ports/store/memory-store.ts";
import type { StoredRecord, Write } from "../../ports/store/store.ts";
import { type Quotas, standardQuotas } from "./quotas.ts";

const GPUS = [{ type: "NVIDIA A40", count: 16, virtual: false }];
const capacity = { vcpu: 256, memoryMb: 1024 * 1024, diskGb: 10_000, ceilings: false, gpus: GPUS, cuda: "12.8" };
const ARN = "arn:aws:ecr:us-east-2:123456789012:repository/team/model";
const CLUSTER = { type: "TRAINING", image: "host:/app" };
const members = { compute: { gpuTypeId: "NVIDIA A40", gpuCountPerPod: 1, podCount: 2 } };
const inRomania = { dataCenter: "EU-RO-1" };

/** A store whose commits take a moment, like those of a database. Reads in the meantime return the old state. */
class UnhurriedStore extends MemoryStore {
  override async commit(writes: Write[]): Promise<StoredRecord[]> {
    for (let turns = 0; turns < 10; turns++) await turn();
    return super.commit(writes);
  }
}

async function twoNodes(few: Partial<Quotas>) {
  const signals = Object.defineProperty(new MemorySignals(), "reliable", { value: false });
  const quotas = { ...standardQuotas(4), ...few };
  const first = await setupPods({ signals, quotas, store: new UnhurriedStore(), machine: { name: "first", capacity } });
  const beside = { signals, quotas, store: first.store, found: { ...first, logs: new MemoryLogs() } };
  const second = await setupPods({ ...beside, machine: { name: "second", capacity } });
  await first.pass(6);
  return {
    nodes: [first, second] as [PodWorld, PodWorld],
    async [Symbol.asyncDispose]() {
      await second[Symbol.asyncDispose]();
      await first[Symbol.asyncDispose]();
    },
  };
}

type Body = (name: string, i: number) => object;

/** Each row: what is bounded, its quota, how many creations succeed, the path, and the body. */
const made: [string, Partial<Quotas>, number, string, Body][] = [
  ["endpoints", { endpoints: 3 }, 3, "/v2/serverless", (name) => ({ ...CPU_POD, name, cpu: [CPU_POD.cpu] })],
  // Each node made one key for its own test.
  ["API keys", { keys: 5 }, 3, "/v2/account/api-keys", () => ({ scopes: ["secrets:read"] })],
  ["secrets", { secrets: 3 }, 3, "/v2/account/secrets", (name) => ({ name, value: "v" })],
  ["templates", { templates: 3 }, 3, "/v2/templates", (name) => ({ name, image: "busybox" })],
  ["registries", { registries: 3 }, 3, "/v2/registries", (name) => ({ name, username: "u", password: "p" })],
  ["delegations", { registries: 3 }, 3, "/v2/registries/delegations", (name) => ({ resource: `${ARN}-${name}` })],
  ["S3 keys", { s3keys: 3 }, 3, "/v2/account/s3-keys", () => ({})],
  ["volumes", { volumes: 3 }, 3, "/v2/network-volumes", (name) => ({ name, size: 10, ...inRomania })],
  ["GB of volumes", { gb: 35 }, 3, "/v2/network-volumes", (name) => ({ name, size: 10, ...inRomania })],
  ["Pods", { pods: 3 }, 3, "/v2/pods", (name) => ({ ...CPU_POD, name })],
  ["vCPU of Pods", { vcpu: 7 }, 3, "/v2/pods", (name) => ({ ...CPU_POD, name })],
  ["GPUs of Pods", { gpus: 3 }, 3, "/v2/pods", (name) => ({ ...GPU_POD, name })],
  ["members of clusters", { pods: 3 }, 1, "/v2/clusters", (name) => ({ ...CLUSTER, ...members, name })],
];

test.each(made)("%s: of 12 that two nodes make at once, as many are there as fit", async (_, few, fit, path, body) => {
  await using world = await twoNodes(few);
  const [name, most] = Object.entries(few)[0]!;
  const make = (i: number) => world.nodes[i % 2]!.call("POST", path, { body: body(`n${i}`, i) });
  const answers = await Promise.all(Array.from({ length: 12 }, (_, i) => make(i)));
  const statuses = answers.map(({ status }) => status).toSorted();
  expect(statuses).toEqual([...Array(fit).fill(201), ...Array(12 - fit).fill(403)]);
  for (const { json } of answers.filter(({ status }) => status === 403))
    expect(json.detail).toContain(`, and may have ${most} (quota '${name}')`);
});

test("volumes that two nodes let grow at once do not pass the GB of their account", async () => {
  await using world = await twoNodes({ gb: 120 });
  const [first] = world.nodes;
  const make = (name: string) => first.call("POST", "/v2/network-volumes", { body: { name, size: 10, ...inRomania } });
  const ids = (await Promise.all([..."abcdefghij"].map(make))).map(({ json }) => json.id as string);
  const grow = (id: string, i: number) =>
    world.nodes[i % 2]!.call("PATCH", `/v2/network-volumes/${id}`, { body: { size: 30 } });
  const answers = await Promise.all(ids.map(grow));
  expect(answers.map(({ status }) => status).toSorted()).toEqual([200, ...Array(9).fill(403)]);
  const { detail } = answers.find(({ status }) => status === 403)!.json;
  expect(detail).toContain("This account has 120 GB of network volumes");
});

test("Pods that two nodes start at once hold no more GPUs than their account may", async () => {
  await using world = await twoNodes({ gpus: 2 });
  const [first] = world.nodes;
  const ids: string[] = [];
  for (const name of ["a", "b", "c", "d"]) {
    const { id } = await first.create({ ...GPU_POD, name });
    await first.act(id, "stop");
    await first.pass(12);
    ids.push(id);
  }
  await world.nodes[1].pass(2);
  const started = await Promise.all(ids.map((id, i) => world.nodes[i % 2]!.act(id, "start")));
  const statuses = started.map(({ json }) => json.status);
  expect(statuses.filter((status) => status === "STARTING")).toHaveLength(2);
  const waiting = started.filter(({ json }) => json.status === "PROVISIONING");
  for (const { json } of waiting) expect(json.statusReason).toContain("may have 2 (quota 'gpus')");
});
