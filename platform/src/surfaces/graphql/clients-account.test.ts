/** Account, secrets, registries and volumes: sends the documents of public clients, one by one. */
import { describe, expect, test } from "vitest";
import { ask, dataOf, errorOf } from "../../../tests/graphql.ts";
import { putPod } from "../../../tests/pod-doc.ts";
import { giveVolumesAPlace } from "../../../tests/volume-doc.ts";
import { setup } from "../../../tests/world.ts";

const KEY = "ssh-ed25519 AAAA me@here";

describe("the user", () => {
  test("dstack checks a key", async () => {
    await using world = await setup();
    const { account, user } = world.owner;
    const { myself } = await dataOf(world, "query { myself { id, authId, email, } }");
    expect(myself).toEqual({ id: account, authId: user, email: "owner@localhost" });
  });

  test("runpodctl user, with what was paid in and what may be spent", async () => {
    await using world = await setup();
    const query = `query { myself { id email clientBalance currentSpendPerHr spendLimit
      notifyPodsStale notifyPodsGeneral notifyLowBalance } }`;
    const { account } = world.owner;
    expect((await dataOf(world, query, { more: { variables: null } })).myself).toEqual({
      ...{ id: account, email: "owner@localhost", clientBalance: null, currentSpendPerHr: 0, spendLimit: 0 },
      ...{ notifyPodsStale: false, notifyPodsGeneral: false, notifyLowBalance: false },
    });
    await world.services.spending.credit(account, 12_500_000_000);
    await world.call("PATCH", "/v2/account", { body: { spendLimit: 40 } });
    await world.clock.advance(2000);
    expect((await dataOf(world, query)).myself).toMatchObject({ clientBalance: 12.5, spendLimit: 40 });
  });

  test("what is spent by the hour, by what it is spent for", async () => {
    await using world = await setup();
    giveVolumesAPlace(world);
    await world.call("POST", "/v2/network-volumes", { body: { name: "v", size: 730, dataCenter: "EU-RO-1" } });
    const query = `{ myself { currentSpendPerHr underBalance
      spendDetails { localStoragePerHour networkStoragePerHour gpuComputePerHour } } }`;
    expect((await dataOf(world, query)).myself).toEqual({
      currentSpendPerHr: 0.07,
      underBalance: false,
      spendDetails: { localStoragePerHour: 0, networkStoragePerHour: 0.07, gpuComputePerHour: 0 },
    });
  });

  test("runpod-python update_user_settings: keys with line breaks that are written out in the document", async () => {
    await using world = await setup();
    const mutation = `mutation { updateUserSettings(input: {pubKey: "${KEY}\\n\\nssh-rsa BBBB\\n"}) { id pubKey } }`;
    expect((await dataOf(world, mutation)).updateUserSettings).toEqual({
      id: world.owner.account,
      pubKey: `${KEY}\nssh-rsa BBBB`,
    });
    expect((await world.call("GET", "/v2/account/ssh-keys")).json).toEqual({ keys: [KEY, "ssh-rsa BBBB"] });
    const { myself } = await dataOf(
      world,
      "query myself { myself { id pubKey networkVolumes { id name size dataCenterId } } }",
    );
    expect(myself).toMatchObject({ pubKey: `${KEY}\nssh-rsa BBBB`, networkVolumes: [] });
  });

  test("runpodctl ssh keys, with a variable that may be null", async () => {
    await using world = await setup();
    const mutation = "mutation Mutation($input: UpdateUserSettingsInput) { updateUserSettings(input: $input) { id } }";
    await dataOf(world, mutation, { variables: { input: { pubKey: KEY } } });
    expect((await dataOf(world, "{ myself { pubKey } }")).myself.pubKey).toBe(KEY);
    await dataOf(world, mutation, { variables: { input: { pubKey: "" } } });
    expect((await dataOf(world, "{ myself { pubKey } }")).myself.pubKey).toBe("");
    const wrong = await errorOf(world, mutation, { variables: { input: { pubKey: "no key" } } });
    expect(wrong.message).toContain("$.keys[0]");
  });

  test("what somebody wants to be told of is kept, and nothing else is changed", async () => {
    await using world = await setup();
    await dataOf(world, `mutation { updateUserSettings(input: {pubKey: "${KEY}"}) { id } }`);
    const mutation =
      "mutation { updateUserSettings(input: {notifyLowBalance: true}) { notifyLowBalance notifyOther pubKey } }";
    expect((await dataOf(world, mutation)).updateUserSettings).toEqual({
      ...{ notifyLowBalance: true, notifyOther: false, pubKey: KEY },
    });
    await dataOf(world, "mutation { updateUserSettings(input: {notifyOther: true}) { id } }");
    expect((await dataOf(world, "{ myself { notifyLowBalance notifyOther } }")).myself).toEqual({
      ...{ notifyLowBalance: true, notifyOther: true },
    });
  });

  test("keys and data centers of the account", async () => {
    await using world = await setup();
    await world.newKey({ scopes: ["secrets:read", "pods:read"] });
    const { apiKeys, datacenters, machines } = (
      await dataOf(
        world,
        "{ myself { apiKeys { id name permissions createdAt lastUsed } datacenters { id } machines { id } } }",
      )
    ).myself;
    const narrow = { permissions: "secrets:read,pods:read", lastUsed: null };
    expect(apiKeys).toContainEqual(expect.objectContaining(narrow));
    expect(datacenters.length).toBeGreaterThan(40);
    expect(machines).toEqual([]);
  });
});

describe("secrets", () => {
  const CREATE =
    "mutation ($input: SecretCreateInput!) { secretCreate(input: $input) { id name description createdAt } }";

  test("are made, listed and deleted, and no answer has a value", async () => {
    await using world = await setup();
    const input = { name: "token", value: "correct horse", description: "of the hub" };
    const made = (await dataOf(world, CREATE, { variables: { input } })).secretCreate;
    expect(made).toEqual({
      id: expect.any(String),
      name: "token",
      description: "of the hub",
      createdAt: expect.any(String),
    });
    const list = "{ myself { secrets { id name description createdAt updatedAt lastUpdatedAt lastRetrievedAt } } }";
    const { myself } = await dataOf(world, list);
    expect(myself.secrets).toMatchObject([{ ...made, updatedAt: made.createdAt, lastUpdatedAt: made.createdAt }]);
    expect((await ask(world, "{ myself { secrets { value } } }")).status).toBe(400);
    const remove = "mutation ($id: ID!) { secretDelete(id: $id) }";
    expect(await dataOf(world, remove, { variables: { id: made.id } })).toEqual({ secretDelete: null });
    expect(await errorOf(world, remove, { variables: { id: made.id } })).toMatchObject({
      ...{
        message: "secret not found",
        path: ["secretDelete"],
        extensions: { code: "RUNPOD", meaning: "not-found", reasonCode: "not-found" },
      },
    });
  });

  test("are refused with the reason: a name that is taken, or nothing at all", async () => {
    await using world = await setup();
    await dataOf(world, CREATE, { variables: { input: { name: "token", value: "v" } } });
    const taken = await errorOf(world, CREATE, { variables: { input: { name: "TOKEN", value: "v" } } });
    expect(taken.message).toBe("A secret named 'TOKEN' already exists.");
    const nothing = await errorOf(world, "mutation { secretCreate { id } }");
    expect(nothing.message).toMatch(/property 'name' is required.*property 'value' is required/);
  });
});

describe("registries", () => {
  test("runpod-python: saved, changed and deleted", async () => {
    await using world = await setup();
    const save =
      'mutation SaveRegistryAuth { saveRegistryAuth(input: {name: "hub", username: "u", password: "p"}) { id name } }';
    const { id, name } = (await dataOf(world, save)).saveRegistryAuth;
    expect(name).toBe("hub");
    const update = `mutation UpdateRegistryAuth { updateRegistryAuth(input: {id: "${id}", username: "u2", password: "p2"}) { id name } }`;
    expect((await dataOf(world, update)).updateRegistryAuth).toEqual({ id, name: "hub" });
    const access = await world.services.registries.accessTo({ account: world.owner.account, image: "i", registry: id });
    expect(access).toEqual({ credential: { username: "u2", password: "p2" } });
    const remove = "mutation ($registryAuthId: String!) { deleteRegistryAuth(registryAuthId: $registryAuthId) }";
    expect(await dataOf(world, remove, { variables: { registryAuthId: id } })).toEqual({ deleteRegistryAuth: true });
    expect((await errorOf(world, remove, { variables: { registryAuthId: id } })).message).toBe("registry not found");
  });

  test("dstack: listed with the oldest first, and not deleted while something uses one", async () => {
    await using world = await setup();
    const save = "mutation ($input: SaveRegistryAuthInput!) { saveRegistryAuth(input: $input) { id } }";
    const ids: string[] = [];
    for (const name of ["first", "second"]) {
      const made = await dataOf(world, save, { variables: { input: { name, username: "u", password: "p" } } });
      ids.push(made.saveRegistryAuth.id);
      await world.clock.advance(1000);
    }
    const list = "query { myself { containerRegistryCreds { id name userId registryAuth } } }";
    expect((await dataOf(world, list)).myself.containerRegistryCreds).toMatchObject([
      { id: ids[0], name: "first", userId: world.owner.account, registryAuth: null },
      { id: ids[1], name: "second" },
    ]);
    await putPod(world, { registry: ids[0]! });
    const refused = await errorOf(world, `mutation { deleteRegistryAuth(registryAuthId: "${ids[0]}") }`);
    expect(refused.message).toContain("This registry is in use by Pod");
  });
});

describe("network volumes", () => {
  async function withPlace() {
    const world = await setup();
    giveVolumesAPlace(world);
    return world;
  }

  test("dstack: made, listed with their data center, deleted; a second time in its own words", async () => {
    await using world = await withPlace();
    const create = 'mutation { createNetworkVolume(input: {name: "data", size: 100, dataCenterId: "EU-RO-1"}) { id } }';
    const { id } = (await dataOf(world, create)).createNetworkVolume;
    const list = "query { myself { networkVolumes { id name size dataCenter { id name } } } }";
    expect((await dataOf(world, list)).myself.networkVolumes).toEqual([
      { id, name: "data", size: 100, dataCenter: { id: "EU-RO-1", name: "EU-RO-1" } },
    ]);
    const remove = `mutation { deleteNetworkVolume(input: {id: "${id}"}) }`;
    expect(await dataOf(world, remove)).toEqual({ deleteNetworkVolume: null });
    const again = await errorOf(world, remove);
    expect(again.message).toBe("Tried to delete nonexistent network volume");
    expect(again.extensions).toMatchObject({ code: "RUNPOD", reason: "network volume not found" });
  });

  test("Pulumi: variables of their own, then renamed and grown", async () => {
    await using world = await withPlace();
    const create = `mutation ($name: String, $size: Int, $dataCenterId: String) {
      createNetworkVolume(input: {name: $name, size: $size, dataCenterId: $dataCenterId}) { id name size dataCenterId } }`;
    const made = await dataOf(world, create, { variables: { name: "data", size: 50, dataCenterId: "EU-RO-1" } });
    const { id } = made.createNetworkVolume;
    expect(made.createNetworkVolume).toEqual({ id, name: "data", size: 50, dataCenterId: "EU-RO-1" });
    const update = `mutation ($input: UpdateNetworkVolumeInput) { updateNetworkVolume(input: $input) {
      id name size dataCenterId dataCenter { id name location storageSupport } } }`;
    const grown = await dataOf(world, update, { variables: { input: { id, name: "more", size: 60 } } });
    expect(grown.updateNetworkVolume).toMatchObject({
      ...{ id, name: "more", size: 60 },
      dataCenter: { location: "Europe", storageSupport: true },
    });
    const shrunk = await errorOf(world, update, { variables: { input: { id, size: 10 } } });
    expect(shrunk.message).toBe("The volume has 60 GB, and no volume becomes smaller.");
    const renamed = await dataOf(world, update, { variables: { input: { id, name: "other", size: null } } });
    expect(renamed.updateNetworkVolume).toMatchObject({ name: "other", size: 60 });
  });

  test("a data center that has none is refused with those that have", async () => {
    await using world = await withPlace();
    const create = 'mutation { createNetworkVolume(input: {name: "data", size: 100, dataCenterId: "XX-1"}) { id } }';
    expect((await errorOf(world, create)).message).toMatch(/There is no data center 'XX-1'.*EU-RO-1/);
  });

  test("whole numbers have no decimal point", async () => {
    await using world = await withPlace();
    const create =
      'mutation { createNetworkVolume(input: {name: "data", size: 100, dataCenterId: "EU-RO-1"}) { size } }';
    expect((await ask(world, create)).text).toBe('{"data":{"createNetworkVolume":{"size":100}}}');
  });
});

test("what another account has is not there", async () => {
  await using world = await setup();
  giveVolumesAPlace(world);
  const create = 'mutation { createNetworkVolume(input: {name: "data", size: 100, dataCenterId: "EU-RO-1"}) { id } }';
  const { id } = (await dataOf(world, create)).createNetworkVolume;
  const key = await world.strangersKey();
  const remove = `mutation { deleteNetworkVolume(input: {id: "${id}"}) }`;
  expect((await errorOf(world, remove, { key })).message).toBe("Tried to delete nonexistent network volume");
  const lists = "{ myself { networkVolumes { id } secrets { id } containerRegistryCreds { id } } }";
  const { myself } = await dataOf(world, lists, { key });
  expect(myself).toEqual({ networkVolumes: [], secrets: [], containerRegistryCreds: [] });
});
