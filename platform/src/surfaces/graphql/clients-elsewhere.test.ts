/** Documents of public clients for things this installation lacks: the answer is empty or a refusal in words that they know. */
import { expect, test } from "vitest";
import { dataOf, errorOf } from "../../../tests/graphql.ts";
import { setup } from "../../../tests/world.ts";

const MODEL = `id owner provider name status createdAt updatedAt
  users { userId credentialType credentialReference status updatedAt } versions { uuid hash status metadata createdAt updatedAt }`;

test.each([
  ["myModels", `query myModels { myModels { ${MODEL} } }`, {}],
  [
    "myModel",
    `query ($owner: String!, $name: String!) { myModel(owner: $owner, name: $name) { ${MODEL} } }`,
    { owner: "o", name: "n" },
  ],
  [
    "addModelToRepo",
    `mutation ($input: AddModelToRepoInput!) { addModelToRepo(input: $input) { success message model { ${MODEL} } } }`,
    { input: { name: "m", metadata: { any: [1] } } },
  ],
  [
    "updateModelVersionStatus",
    `mutation ($uuid: ID, $hash: ID, $status: ModelVersionStatus!) {
      updateModelVersionStatus(uuid: $uuid, hash: $hash, status: $status) { success message modelVersion { uuid } } }`,
    { uuid: "u", status: "READY" },
  ],
])("runpodctl: %s says that there is no repository of models", async (name, query, variables) => {
  await using world = await setup();
  const { message, path } = await errorOf(world, query, { variables });
  expect([message, path]).toEqual(["Model Repo feature is not enabled for this user", [name]]);
});

test("flash: no apps, none found by its name, and none made", async () => {
  await using world = await setup();
  const apps = `query { myself { flashApps { id name flashEnvironments { id name state createdAt activeBuildId }
    flashBuilds { id createdAt } } } }`;
  expect(await dataOf(world, apps)).toEqual({ myself: { flashApps: [] } });
  const byName = `query ($flashAppName: String!) { flashAppByName(flashAppName: $flashAppName) {
    id name flashEnvironments { id } flashBuilds { id objectKey createdAt } } }`;
  expect((await errorOf(world, byName, { variables: { flashAppName: "a" } })).message).toContain("not found");
  const environment = `query ($input: FlashEnvironmentByNameInput!) { flashEnvironmentByName(input: $input) {
    id name state activeBuildId endpoints { id name } networkVolumes { id name } } }`;
  expect((await errorOf(world, environment, { variables: { input: { name: "e" } } })).message).toContain("not found");
  const create = "mutation ($input: CreateFlashAppInput!) { createFlashApp(input: $input) { id name } }";
  expect((await errorOf(world, create, { variables: { input: { name: "a" } } })).message).toContain("not offered");
});

test("flash login: a guest is told to use a key", async () => {
  await using world = await setup();
  const login = "mutation createFlashAuthRequest { createFlashAuthRequest { id status expiresAt } }";
  expect((await errorOf(world, login, { key: null })).message).toContain("use an API key");
});
