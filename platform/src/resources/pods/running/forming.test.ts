/** Clusters of Ray and Slurm: what runs in which member, when, and what the log says about it. */
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { type PodWorld, setupPods, TWO_GPUS } from "../../../../tests/pod-world.ts";
import type { FakeOptions } from "../../../ports/compute/fake-compute.ts";
import type { FakeExecution } from "../../../ports/compute/fake-execution.ts";

const clusterOf = (type: string) => ({
  name: "c",
  type,
  image: "host:/app",
  compute: { gpuTypeId: "NVIDIA A40", gpuCountPerPod: 1, podCount: 2 },
});

/** A script that was run inside a member: its rank, the script and its input. */
interface Ran {
  rank: string;
  script: string;
  input: string;
  env: Readonly<Record<string, string>>;
}

type Play = (ran: Ran) => { code: number; said?: string };

async function withPrograms(type: string, play: Play, machine: FakeOptions = TWO_GPUS) {
  const world = await setupPods({ machine });
  const ran: Ran[] = [];
  const onExec = async (execution: FakeExecution) => {
    const script = execution.spec.cmd[2]!;
    const name = /^# Starts (\w+)/.exec(script)?.[1] ?? script;
    const one = {
      rank: execution.env.NODE_RANK!,
      script: name,
      input: await text(execution.input),
      env: execution.spec.env ?? {},
    };
    ran.push(one);
    const { code, said = "" } = play(one);
    await execution.write(said);
    execution.end({ code });
  };
  const { behaviour } = world.compute;
  world.compute.behaviour = (instance, spec) => {
    behaviour(instance, spec);
    instance.onExec = (execution) => void onExec(execution);
  };
  const { json } = await world.call("POST", "/v2/clusters", { body: clusterOf(type) });
  await world.settle();
  const pods: { id: string }[] = (await world.call("GET", `/v2/clusters/${json.id}/pods`)).json.pods;
  return { world, ran, pods: pods.map(({ id }) => id) as [string, string] };
}

const systemLines = async (world: PodWorld, pod: string) =>
  (await world.log(pod)).filter((line) => line.startsWith("[cluster:"));

test("Ray is started on each member once, and what it says is in the log", async () => {
  const { world, ran, pods } = await withPrograms("RAY", ({ rank }) => ({ code: 0, said: `rank ${rank} is in\n` }));
  await using _ = world;
  expect(ran.map(({ rank, script }) => [rank, script]).toSorted()).toEqual([
    ["0", "Ray"],
    ["1", "Ray"],
  ]);
  expect(await systemLines(world, pods[1])).toEqual(["[cluster: rank 1 is in]"]);
  await world.pass(30);
  expect(ran).toHaveLength(2);
});

test("a member that is too early tries again until it is in", async () => {
  let tries = 0;
  const { world, ran } = await withPrograms("RAY", ({ rank }) => ({ code: rank === "1" && tries++ < 2 ? 75 : 0 }));
  await using _ = world;
  await world.pass(11);
  expect(ran.filter(({ rank }) => rank === "1")).toHaveLength(3);
  await world.pass(11);
  expect(ran.filter(({ rank }) => rank === "1")).toHaveLength(3);
});

test("what cannot be started is said, and the member's own program goes on", async () => {
  const { world, pods } = await withPrograms("RAY", () => ({ code: 1, said: "no space\n" }));
  await using _ = world;
  expect(await systemLines(world, pods[0])).toEqual(["[cluster: no space]", "[cluster: it was not joined (exit 1)]"]);
  expect((await world.pod(pods[0])).status).toBe("RUNNING");
});

test("the members of Slurm are given what its controller shares, which is asked of that alone", async () => {
  const { world, ran } = await withPrograms("SLURM", ({ script }) =>
    script === "Slurm" ? { code: 0 } : { code: 0, said: "head\nc2VjcmV0\n" },
  );
  await using _ = world;
  await world.pass(6);
  const asked = ran.filter(({ script }) => script !== "Slurm");
  expect(asked.every(({ rank }) => rank === "0")).toBe(true);
  const inputs = ran.filter(({ script }) => script === "Slurm").map(({ rank, input }) => [rank, input]);
  expect(inputs.toSorted()).toEqual([
    ["0", ""],
    ["1", "head\nc2VjcmV0\n"],
  ]);
});

test("what is run is told where all members are, by rank, and the own address where they are known by names", async () => {
  for (const addresses of ["of a range", "of boxes"] as const) {
    const { world, ran, pods } = await withPrograms("SLURM", () => ({ code: 0 }), { ...TWO_GPUS, addresses });
    await using _ = world;
    const told = world.running().toSorted((a, b) => Number(a.spec.env.NODE_RANK) - Number(b.spec.env.NODE_RANK));
    const MEMBER_ADDRS = told.map(({ spec }) => spec.env.NODE_ADDR).join(" ");
    const scripts = ran.filter(({ script }) => script === "Slurm");
    expect(scripts.map(({ rank, env }) => [rank, env]).toSorted()).toEqual(
      await Promise.all(
        pods.map(async (id, rank) => {
          const MEMBER_IP = (await world.pod(id)).cluster.ip;
          return [String(rank), { MEMBER_ADDRS, MEMBER_IP }];
        }),
      ),
    );
  }
});

test("after its program failed and was started again, the member joins again", async () => {
  const { world, ran } = await withPrograms("RAY", () => ({ code: 0 }));
  await using _ = world;
  world
    .running()
    .find(({ spec }) => spec.env.NODE_RANK === "1")!
    .exit({ code: 1 });
  await world.pass(3);
  expect(ran.filter(({ rank }) => rank === "1")).toHaveLength(2);
});

test("nothing is run in members of other clusters", async () => {
  const { world, ran } = await withPrograms("TRAINING", () => ({ code: 0 }));
  await using _ = world;
  await world.pass(11);
  expect(ran).toEqual([]);
});
