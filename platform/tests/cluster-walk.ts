/** The life of a cluster on a real server: a program over two members, a member that dies once, a stranger, and the end. */
import { expect } from "vitest";
import { podLines } from "./pod-lines.ts";
import type { ServerPlace } from "./worker-place.ts";
import type { Answer } from "./world.ts";

type Json = Answer["json"];

interface Program {
  image: string;
  cmd: string[];
}

export interface ClusterWalk {
  /** More fields of the cluster. */
  more?: object;
  /** Called while both members run. Returns their addresses, where no range tells them. */
  addresses?: (pods: readonly string[]) => Promise<string[]>;
}

export async function walkCluster(
  at: ServerPlace,
  program: Program,
  { more = {}, addresses }: ClusterWalk = {},
): Promise<{ id: string; pods: string[] }> {
  const compute = { gpuTypeId: "NVIDIA A40", gpuCountPerPod: 1, podCount: 2 };
  const body = { name: "sums", type: "TRAINING", compute, ...program, disk: 5, ...more };
  const made = await at.call("POST", "/v2/clusters", body);
  expect([made.status, made.status === 201 ? "" : made.text]).toEqual([201, ""]);
  const { id } = made.json;
  const pods: Json[] = (await at.call("GET", `/v2/clusters/${id}/pods`)).json.pods;
  const [first, second] = pods.map((pod) => pod.id) as [string, string];
  // The two ranks contribute 1 and 2. The member that died says the sum again.
  const lines = await podLines(at, second, /^boot/, 2);
  const { network } = (await at.call("GET", `/v2/clusters/${id}`)).json;
  const [primary, member] = addresses
    ? await addresses([first, second])
    : [2, 3].map((host) => network.cidr.replace("0/24", host));
  // Where members have a range of their own, the address is the same after the restart.
  const said = (boot: number) => `boot ${boot} rank 1 at ${member} sum 3`;
  expect(lines).toEqual(
    addresses ? [expect.stringMatching(/^boot 1 rank 1 at \S+ sum 3$/), said(2)] : [said(1), said(2)],
  );
  await podLines(at, first, /^sum 3$/, 2);
  await expectNoStranger(at, program, primary);
  expect((await at.call("DELETE", `/v2/pods/${second}`)).status).toBe(409);
  expect((await at.call("DELETE", `/v2/clusters/${id}`)).status).toBe(204);
  return { id, pods: [first, second] };
}

async function expectNoStranger(at: ServerPlace, program: Program, primary: string): Promise<void> {
  const body = { name: "stranger", ...program, gpu: { id: "NVIDIA A40" }, disk: 5, env: { CALL: `${primary}:29500` } };
  const { id } = (await at.call("POST", "/v2/pods", body)).json;
  expect(await podLines(at, id, /reach/)).toEqual(["unreachable"]);
  await at.call("DELETE", `/v2/pods/${id}`);
}
