/** Templates in GraphQL: what holds for every client. */
import { expect, test } from "vitest";
import { ask } from "../../../tests/graphql.ts";
import { refused, told } from "../../../tests/graphql-calls.ts";
import { setup } from "../../../tests/world.ts";

const SAVE = `mutation ($input: SaveTemplateInput) { saveTemplate(input: $input) {
  id name imageName dockerArgs containerDiskInGb volumeInGb volumeMountPath ports env { key value } isServerless isPublic isRunpod
  category readme startScript startSsh startJupyter portsConfig { port name } boundEndpointId
} }`;
const INPUT = {
  name: "web",
  imageName: "nginx",
  env: [{ key: "A", value: "b" }],
  ports: "80/http, 22/tcp",
  readme: "# Web",
};

test("without an id it is made, with one it is changed, and what is left out stays", async () => {
  await using world = await setup();
  const { saveTemplate: made } = await told(world, SAVE, {
    input: { ...INPUT, volumeInGb: 20, volumeMountPath: "/data" },
  });
  expect(made).toEqual({
    id: expect.stringMatching(/^[a-z0-9]{14}$/),
    ...{
      name: "web",
      imageName: "nginx",
      dockerArgs: "",
      containerDiskInGb: 20,
      volumeInGb: 20,
      volumeMountPath: "/data",
    },
    ...{
      ports: "80/http,22/tcp",
      env: [{ key: "A", value: "b" }],
      isServerless: false,
      isPublic: false,
      isRunpod: false,
    },
    ...{ category: "NVIDIA", readme: "# Web", startScript: "", startSsh: true, startJupyter: true, portsConfig: [] },
    boundEndpointId: null,
  });
  const input = {
    id: made.id,
    imageName: "nginx:2",
    dockerArgs: 'nginx -g "daemon off;"',
    ports: "",
    volumeMountPath: "",
  };
  const { saveTemplate: changed } = await told(world, SAVE, { input });
  expect(changed).toEqual({ ...made, imageName: "nginx:2", dockerArgs: 'nginx -g "daemon off;"' });
  const { json } = await world.call("GET", `/v2/templates/${made.id}`);
  expect(json).toMatchObject({ image: "nginx:2", cmd: ["nginx", "-g", "daemon off;"], ports: ["80/http", "22/tcp"] });
});

test("no disk and no storage are said by 0", async () => {
  await using world = await setup();
  const { saveTemplate } = await told(world, SAVE, { input: { ...INPUT, containerDiskInGb: 0, volumeInGb: 0 } });
  expect(saveTemplate).toMatchObject({ containerDiskInGb: 20, volumeInGb: 0 });
});

test("a new one needs a name and an image, and the name is free", async () => {
  await using world = await setup();
  expect((await refused(world, SAVE, { input: { name: "web" } })).message).toContain("imageName");
  await told(world, SAVE, { input: INPUT });
  expect((await refused(world, SAVE, { input: INPUT })).message).toBe("A template named 'web' already exists.");
  expect((await refused(world, SAVE, { input: null })).message).toContain("name");
});

test("one that is not there, or another account's, is not found", async () => {
  await using world = await setup();
  const { saveTemplate: made } = await told(world, SAVE, { input: INPUT });
  const input = { id: made.id, name: "mine" };
  const { json } = await ask(world, SAVE, { variables: { input }, key: await world.strangersKey() });
  expect(json.errors[0]).toMatchObject({ message: "template not found", extensions: { meaning: "not-found" } });
  const gone = await refused(world, `mutation { deleteTemplate(templateName: "nobody's") }`);
  expect(gone.message).toBe("template not found");
});

test("a template in use is not deleted, and says by what", async () => {
  await using world = await setup();
  const { saveTemplate: made } = await told(world, SAVE, { input: { ...INPUT, isServerless: true, volumeInGb: 0 } });
  const body = { name: "e", templateId: made.id, cpu: [{ id: "cpu3c", vcpuCount: 2 }] };
  const { json: endpoint } = await world.call("POST", "/v2/serverless", { body });
  const remove = `mutation { deleteTemplate(templateName: "web") }`;
  expect((await refused(world, remove)).message).toContain(`endpoint 'e' (${endpoint.id})`);
  await world.call("DELETE", `/v2/serverless/${endpoint.id}`);
  expect(await told(world, remove)).toEqual({ deleteTemplate: null });
  const { entries } = (await world.call("GET", "/v2/account/audit")).json;
  expect(entries[0]).toMatchObject({ operation: "deleteTemplate", resource: { type: "templates", id: made.id } });
});

test("anybody reads public templates without a key; private ones are nobody else's", async () => {
  await using world = await setup();
  const own = await told(world, SAVE, { input: { ...INPUT, isPublic: true } });
  const hidden = await told(world, SAVE, { input: { ...INPUT, name: "hidden" } });
  const anonymous = { key: null };
  const list = await ask(world, "{ podTemplates { id isRunpod } }", anonymous);
  const ids = list.json.data.podTemplates.map(({ id }: { id: string }) => id);
  expect(ids).toContain(own.saveTemplate.id);
  expect(ids).toContain("ubuntu-shell");
  const read = (id: string) => ask(world, `{ podTemplate(id: "${id}") { name } }`, anonymous);
  expect((await read(own.saveTemplate.id)).json).toEqual({ data: { podTemplate: { name: "web" } } });
  expect((await read(hidden.saveTemplate.id)).json).toEqual({ data: { podTemplate: null } });
});

test("the own container of an endpoint is read and edited as a template under its id, and is in no list", async () => {
  await using world = await setup();
  const body = { name: "e", image: "busybox", cpu: [{ id: "cpu3c", vcpuCount: 2 }] };
  const { json: endpoint } = await world.call("POST", "/v2/serverless", { body });
  const read = `{ podTemplate(id: "${endpoint.id}") { id imageName boundEndpointId isServerless } }`;
  expect((await told(world, read)).podTemplate).toEqual({
    ...{ id: endpoint.id, imageName: "busybox", boundEndpointId: endpoint.id, isServerless: true },
  });
  await told(world, SAVE, { input: { id: endpoint.id, imageName: "busybox:2" } });
  expect((await world.call("GET", `/v2/serverless/${endpoint.id}`)).json.image).toBe("busybox:2");
  expect((await told(world, "{ myself { podTemplates { id } } }")).myself.podTemplates).toEqual([]);
});
