/** Every operation of REST v1: as the API sheet lists it, as its document describes it, and in the audit log. */
import { describe, expect, test } from "vitest";
import { CLUSTER_GPUS } from "../../../tests/cluster-doc.ts";
import { callsIn, DescribedAnswers } from "../../../tests/described-answers.ts";
import { goodV1 } from "../../../tests/described-calls-v1.ts";
import { idle } from "../../../tests/idle.ts";
import { type Answer, setup, type World } from "../../../tests/world.ts";
import { type Operation, pathParameters } from "../../kernel/operation.ts";
import { FakeCompute } from "../../ports/compute/fake-compute.ts";
import { restV1Document } from "./openapi.ts";
import { restV1Operations } from "./operations.ts";

/** Method, path, operation and success status from the API sheet. `resume` and the names for the second way to update are ours. */
const index = `
POST /pods CreatePod 201
GET /pods ListPods 200
GET /pods/{podId} GetPod 200
PATCH /pods/{podId} UpdatePod 200
POST /pods/{podId}/update UpdatePodByPost 200
DELETE /pods/{podId} DeletePod 204
POST /pods/{podId}/start StartPod 200
POST /pods/{podId}/resume ResumePod 200
POST /pods/{podId}/stop StopPod 200
POST /pods/{podId}/reset ResetPod 200
POST /pods/{podId}/restart RestartPod 200
POST /endpoints CreateEndpoint 200
GET /endpoints ListEndpoints 200
GET /endpoints/{endpointId} GetEndpoint 200
PATCH /endpoints/{endpointId} UpdateEndpoint 200
POST /endpoints/{endpointId}/update UpdateEndpointByPost 200
DELETE /endpoints/{endpointId} DeleteEndpoint 204
POST /templates CreateTemplate 200
GET /templates ListTemplates 200
GET /templates/{templateId} GetTemplate 200
PATCH /templates/{templateId} UpdateTemplate 200
POST /templates/{templateId}/update UpdateTemplateByPost 200
DELETE /templates/{templateId} DeleteTemplate 204
POST /networkvolumes CreateNetworkVolume 200
GET /networkvolumes ListNetworkVolumes 200
GET /networkvolumes/{networkVolumeId} GetNetworkVolume 200
PATCH /networkvolumes/{networkVolumeId} UpdateNetworkVolume 200
POST /networkvolumes/{networkVolumeId}/update UpdateNetworkVolumeByPost 200
DELETE /networkvolumes/{networkVolumeId} DeleteNetworkVolume 204
POST /containerregistryauth CreateContainerRegistryAuth 200
GET /containerregistryauth ListContainerRegistryAuths 200
GET /containerregistryauth/{containerRegistryAuthId} GetContainerRegistryAuth 200
DELETE /containerregistryauth/{containerRegistryAuthId} DeleteContainerRegistryAuth 204
GET /billing/pods PodBilling 200
GET /billing/endpoints EndpointBilling 200
GET /billing/networkvolumes NetworkVolumeBilling 200
`;

const document = restV1Document();
const described = callsIn(document);
const answers = new DescribedAnswers(document);
const all = Object.entries(restV1Operations as Record<string, Operation>);

test("there are the operations of the API, each with its success, and no others", () => {
  const served = described.map(({ method, path, operationId, responses }) => {
    const success = Object.keys(responses).find((status) => Number(status) < 300);
    return `${method} ${path.replace("/v1", "")} ${operationId} ${success}`;
  });
  expect(served.toSorted()).toEqual(index.trim().split("\n").toSorted());
});

const withMachine = () =>
  setup({
    compute: (clock) => new FakeCompute(clock, CLUSTER_GPUS),
    domain: "pods.test",
    rateLimits: "600,18000,200000",
  });

async function callGood(
  world: World,
  name: string,
  { method, path }: Operation,
  key?: string,
): Promise<[string, Answer]> {
  const { id = "", body, query = "" } = await goodV1[name]!(world);
  await idle();
  const options = { ...(body && { body }), ...(key && { key }), headers: { "user-agent": "walker/1" } };
  return [id, await world.call(method, path.replace(/\{\w+\}/, id) + query, options)];
}

const describing = ({ method, path }: Operation) =>
  described.find((one) => one.method === method && one.path === path)!;

describe("answers are as the document says", () => {
  test.each(all)("%s: when it succeeds", async (name, operation) => {
    await using world = await withMachine();
    const [, answer] = await callGood(world, name, operation);
    expect([answer.status, answer.text]).toEqual([operation.status, answer.text]);
    answers.expectDescribed(describing(operation), answer);
  });

  test.each(all)("%s: when it is refused", async (_name, operation) => {
    await using world = await setup();
    const path = operation.path.replace(/\{\w+\}/, "aaaaaaaaaaaaaa");
    const key = await world.newKey({ scopes: ["serverless:invoke"] });
    const refused = [
      [401, { key: null }],
      [403, { key }],
      ...(operation.in ? ([[400, { body: "{" }]] as const) : []),
      ...(pathParameters(operation.path).length > 0
        ? ([[404, operation.in ? { body: { name: "n" } } : {}]] as const)
        : []),
    ] as const;
    for (const [status, options] of refused) {
      const answer = await world.call(operation.method, path, options);
      expect(answer.status).toBe(status);
      answers.expectDescribed(describing(operation), answer);
    }
  });
});

describe("the audit log", () => {
  const changes = all.filter(([, { method }]) => method !== "GET");

  test.each(changes)("has one entry of %s, about a thing that REST v2 calls the same", async (name, operation) => {
    await using world = await withMachine();
    const issued = await world.services.account.issueKey(world.owner, { name: "ci", scopes: ["all"] });
    const [id, answer] = await callGood(world, name, operation, issued.key);
    await idle();
    const { entries } = (await world.call("GET", "/v2/account/audit")).json;
    const own = entries.filter((entry: { userAgent: string }) => entry.userAgent === "walker/1");
    const made = id === "" ? answer.json.id : id;
    expect(own).toMatchObject([
      {
        ...{ operation: name, outcome: "done", actor: { type: "key", id: issued.id } },
        resource: { type: operation.scope!.split(":")[0], id: made },
      },
    ]);
  });
});
