/** Endpoints in GraphQL: what holds for every client. */
import { expect, test } from "vitest";
import { ask } from "../../../tests/graphql.ts";
import { refused, told } from "../../../tests/graphql-calls.ts";
import { putVolume } from "../../../tests/volume-doc.ts";
import { setup, type World } from "../../../tests/world.ts";

const SAVE = `mutation ($input: EndpointInput) { saveEndpoint(input: $input) {
  id name templateId gpuIds gpuCount instanceIds computeType locations idleTimeout scalerType scalerValue workersMin workersMax type
  version executionTimeoutMs flashBootType allowedCudaVersions minCudaVersion networkVolumeId env { key value }
  template { id imageName }
} }`;
const OWN = { name: "vision", gpuIds: "ADA_24", template: { name: "t", imageName: "registry.test/vision:1", env: [] } };

const save = async (world: World, input: object) => (await told(world, SAVE, { input })).saveEndpoint;
const inRest = async (world: World, id: string) => (await world.call("GET", `/v2/serverless/${id}`)).json;

async function template(world: World, name = "handler") {
  const input = { name, imageName: `registry.test/${name}`, isServerless: true, volumeInGb: 0, env: [] };
  const query = "mutation ($input: SaveTemplateInput) { saveTemplate(input: $input) { id } }";
  return (await told(world, query, { input })).saveTemplate.id as string;
}

test("what an update leaves out stays as it was", async () => {
  await using world = await setup();
  const made = await save(world, {
    ...OWN,
    ...{
      workersMax: 7,
      idleTimeout: 33,
      scalerValue: 9,
      gpuCount: 2,
      locations: "EU-RO-1",
      flashBootType: "FLASHBOOT",
    },
  });
  const after = await save(world, { id: made.id, name: "renamed", gpuIds: "ADA_24" });
  expect(after).toEqual({ ...made, name: "renamed" });
});

test("GPUs by pools and exclusions are the same text again, and REST's types", async () => {
  await using world = await setup();
  const made = await save(world, { ...OWN, gpuIds: "AMPERE_16, -NVIDIA RTX A4500,ADA_24" });
  expect(made.gpuIds).toBe("AMPERE_16,-NVIDIA RTX A4500,ADA_24");
  expect((await inRest(world, made.id)).gpu).toMatchObject({
    pools: ["AMPERE_16", "ADA_24"],
    excludedTypes: ["NVIDIA RTX A4500"],
  });
  expect((await refused(world, SAVE, { input: { ...OWN, gpuIds: "NO_POOL" } })).message).toContain("'NO_POOL'");
});

test("a country stands for its data centers", async () => {
  await using world = await setup();
  const { id, locations } = await save(world, { ...OWN, locations: "CZ,EU-RO-1" });
  expect((await inRest(world, id)).dataCenterIds).toEqual(["EU-CZ-1", "EU-RO-1"]);
  expect(locations).toBe("EU-CZ-1,EU-RO-1");
});

test.each([
  ["an empty list", { networkVolumeIds: [] }, []],
  ["an empty list beside an empty id", { networkVolumeId: "", networkVolumeIds: [] }, []],
  ["null for the id", { networkVolumeId: null }, []],
  ["null for the list", { networkVolumeIds: null }, []],
  ["an empty id", { networkVolumeId: "" }, ["thisisavolume1"]],
  ["its own id beside an empty list", { networkVolumeId: "thisisavolume1", networkVolumeIds: [] }, ["thisisavolume1"]],
  ["nothing", { workersMax: 4 }, ["thisisavolume1"]],
])("%s in an update leaves an endpoint the right volumes", async (_what, sent, left) => {
  await using world = await setup();
  const networkVolumeId = await putVolume(world);
  const { id } = await save(world, { ...OWN, networkVolumeId });
  expect((await inRest(world, id)).networkVolumes).toEqual([networkVolumeId]);
  const after = await save(world, { id, ...sent });
  expect(after.networkVolumeId).toBe(left[0] ?? null);
  expect((await inRest(world, id)).networkVolumes).toEqual(left);
});

test("null in the place of locations lets an endpoint run anywhere; an empty text does not", async () => {
  await using world = await setup();
  const { id } = await save(world, { ...OWN, locations: "EU-RO-1" });
  expect((await save(world, { id, locations: "" })).locations).toBe("EU-RO-1");
  await save(world, { id, locations: null });
  expect((await inRest(world, id)).dataCenterIds).toEqual([]);
});

test("of CUDA versions next to a least one, those that are new enough count", async () => {
  await using world = await setup();
  const made = await save(world, { ...OWN, allowedCudaVersions: "12.8,12.1", minCudaVersion: "12.4" });
  expect(made).toMatchObject({ allowedCudaVersions: "12.8", minCudaVersion: null });
});

test("words are taken bare, as texts, in any case and empty", async () => {
  await using world = await setup();
  const bare = `mutation { saveEndpoint(input: { name: "bare", gpuIds: "ADA_24", template: { name: "t", imageName: "i" },
    flashBootType: PRIORITY_FLASHBOOT, type: LB, scalerType: REQUEST_COUNT, scalerValue: 2 }) { type flashBootType scalerType } }`;
  expect((await told(world, bare)).saveEndpoint).toEqual({
    ...{ type: "LB", flashBootType: "PRIORITY_FLASHBOOT", scalerType: "REQUEST_COUNT" },
  });
  const empty = await save(world, { ...OWN, flashBootType: "", type: "", scalerType: "queue_delay" });
  expect(empty).toMatchObject({ type: "QB", flashBootType: "OFF", scalerType: "QUEUE_DELAY" });
  const odd = await refused(world, SAVE, { input: { ...OWN, name: "odd", scalerType: "GUESS" } });
  expect(odd.message).toContain("QUEUE_DELAY, REQUEST_COUNT");
});

test("an endpoint of REST v2 keeps what GraphQL cannot say when all of it is sent back", async () => {
  await using world = await setup();
  const body = {
    ...{ name: "fine", image: "busybox", gpu: { pools: ["ADA_24"] }, flashboot: "PRIORITY_FLASHBOOT" },
    scaling: { type: "QUEUE_DELAY", queueDelay: 0.5 },
  };
  const { json: before } = await world.call("POST", "/v2/serverless", { body });
  const fields =
    "id name gpuIds gpuCount templateId idleTimeout scalerType scalerValue workersMin workersMax flashBootType type";
  const { myself } = await told(world, `{ myself { endpoint(id: "${before.id}") { ${fields} } } }`);
  expect(myself.endpoint).toMatchObject({ scalerValue: 1, templateId: before.id, type: "QB" });
  await save(world, myself.endpoint);
  expect(await inRest(world, before.id)).toEqual(before);
});

test("an idle timeout beside a request count is kept as it was sent", async () => {
  await using world = await setup();
  const made = await save(world, { ...OWN, scalerType: "REQUEST_COUNT", scalerValue: 2, idleTimeout: 5 });
  expect(made).toMatchObject({ scalerType: "REQUEST_COUNT", scalerValue: 2, idleTimeout: 5 });
  expect(await save(world, { id: made.id, scalerType: "REQUEST_COUNT", idleTimeout: 9, workersMax: 4 })).toMatchObject({
    ...{ workersMax: 4, idleTimeout: 9 },
  });
});

test("type and compute stay what they were", async () => {
  await using world = await setup();
  const made = await save(world, OWN);
  expect((await refused(world, SAVE, { input: { id: made.id, type: "LB" } })).message).toContain("type cannot change");
  const cpu = await save(world, { name: "cpu", template: OWN.template, instanceIds: ["cpu3c-2-4"] });
  expect(await save(world, { id: cpu.id, gpuIds: "ADA_24", gpuCount: 1, workersMax: 2 })).toEqual({
    ...cpu,
    workersMax: 2,
  });
});

test("an endpoint follows the template that it names, and changes with it", async () => {
  await using world = await setup();
  const [first, second] = [await template(world, "first"), await template(world, "second")];
  const made = await save(world, { name: "e", templateId: first, gpuIds: "ADA_24" });
  expect(made).toMatchObject({
    templateId: first,
    version: 0,
    template: { id: first, imageName: "registry.test/first" },
  });
  const edit = `mutation { saveTemplate(input: { id: "${first}", imageName: "registry.test/first:2" }) { id } }`;
  await told(world, edit);
  expect((await inRest(world, made.id)).image).toBe("registry.test/first:2");
  const query = `mutation { updateEndpointTemplate(input: { endpointId: "${made.id}", templateId: "${second}" }) {
    templateId version template { imageName } } }`;
  expect((await told(world, query)).updateEndpointTemplate).toEqual({
    ...{ templateId: second, version: 2, template: { imageName: "registry.test/second" } },
  });
});

test("unknown ones: null where one is read, and refused where one is saved, given a template or deleted", async () => {
  await using world = await setup();
  const id = "aaaaaaaaaaaaaa";
  expect((await told(world, `{ myself { endpoint(id: "${id}") { id } } }`)).myself.endpoint).toBeNull();
  expect((await refused(world, SAVE, { input: { id, workersMax: 1 } })).message).toBe("endpoint not found");
  expect((await refused(world, `mutation { deleteEndpoint(id: "${id}") }`)).message).toBe("endpoint not found");
});

test("a key for one endpoint saves that one, and no new one", async () => {
  await using world = await setup();
  const made = await save(world, OWN);
  const key = await world.newKey({ scopes: ["serverless:read", "serverless:write"], endpoints: [made.id] });
  const own = await ask(world, SAVE, { key, variables: { input: { id: made.id, workersMax: 2 } } });
  expect(own.json.data.saveEndpoint.workersMax).toBe(2);
  const other = await ask(world, SAVE, { key, variables: { input: { ...OWN, name: "new" } } });
  expect(other.json.errors[0].message).toContain("narrowed to some endpoints");
});

test("models by reference are refused, and not forgotten", async () => {
  await using world = await setup();
  const error = await refused(world, SAVE, { input: { ...OWN, modelReferences: ["org/model"] } });
  expect(error.message).toContain("'modelReferences'");
});

test("one of which nothing is said has the defaults of REST v1, but for the time that its workers idle", async () => {
  await using world = await setup();
  const made = await save(world, { name: "plain", template: OWN.template, gpuIds: "AMPERE_48" });
  expect(made).toMatchObject({
    executionTimeoutMs: 600_000,
    workersMin: 0,
    workersMax: 3,
    gpuCount: 1,
    idleTimeout: 10,
  });
  const cpu = await save(world, { name: "cpu", template: OWN.template, computeType: "CPU" });
  expect(cpu).toMatchObject({ computeType: "CPU" });
  expect(cpu.instanceIds[0]).toBe("cpu3c-2-4");
});
