/** Documents of public clients about the hub: they find listings and make endpoints of them, as those clients send it. */
import { describe, expect, test } from "vitest";
import { dataOf, errorOf } from "../../../tests/graphql.ts";
import { hubJson, LISTING, testsJson } from "../../../tests/hub-listing.ts";
import { setup } from "../../../tests/world.ts";
import { MemoryListings } from "../../ports/listings/memory-listings.ts";

const WHOLE = `id title repoId repoName repoOwner repoOwnerAvatarUrl description category type tags stars views deploys openIssues watchers
  language createdAt updatedAt listedRelease { id name tagName body readme branch license config deploys iconUrl authorName
  createdAt releasedAt updatedAt build { id imageName } tests }`;
const SHORT =
  "id title repoName repoOwner description category type tags stars views deploys language createdAt updatedAt";

const many = () => {
  const hub = (title: string) => JSON.stringify({ ...hubJson, title });
  return new MemoryListings({ ...LISTING, "other/zebra/hub.json": hub("Zebra"), "other/ape/hub.json": hub("Ape") });
};

describe("runpodctl", () => {
  test("lists and searches", async () => {
    await using world = await setup({ listingSources: [many()] });
    const query = `query Listings($input: ListingsInput!) { listings(input: $input) { ${SHORT} } }`;
    const titles = async (input: object) =>
      (await dataOf(world, query, { key: null, variables: { input } })).listings.map(
        ({ title }: { title: string }) => title,
      );
    const order = { orderBy: "stars", orderDirection: "desc" };
    expect(await titles({ ...order, limit: 10 })).toEqual(["Ape", "Echo", "Zebra"]);
    expect(await titles({ ...order, limit: 1, offset: 1 })).toEqual(["Echo"]);
    expect(await titles({ searchQuery: "zeb", ...order })).toEqual(["Zebra"]);
    expect(await titles({ owner: "Other", category: "language" })).toEqual(["Ape", "Zebra"]);
    expect(await titles({ category: "video" })).toEqual([]);
    const wrong = { variables: { input: { orderBy: "colour" } } };
    expect((await errorOf(world, query, wrong)).message).toContain("'orderBy' must be one of createdAt");
  });

  test("gets one by its id, or by its owner and name", async () => {
    await using world = await setup();
    const get = `query GetListing($id: String!) { listing(id: $id) { ${WHOLE} } }`;
    const { listing } = await dataOf(world, get, { variables: { id: "millrace.echo" } });
    expect(listing).toMatchObject({
      ...{ id: "millrace.echo", title: "Echo", repoOwner: "millrace", repoName: "echo", type: "SERVERLESS", stars: 0 },
      listedRelease: {
        ...{ tagName: "v1", readme: "# Echo", iconUrl: "https://example.com/icon.png" },
        build: { imageName: "registry.test/echo:1" },
      },
    });
    // The client reads both texts as JSON.
    expect(JSON.parse(listing.listedRelease.config)).toEqual(hubJson.config);
    expect(JSON.parse(listing.listedRelease.tests)).toEqual(testsJson);
    const fromRepo = `query ($repoOwner: String!, $repoName: String!) {
      listingFromRepo(repoOwner: $repoOwner, repoName: $repoName) { ${WHOLE} } }`;
    const asked = { variables: { repoOwner: "millrace", repoName: "echo" } };
    expect(await dataOf(world, fromRepo, asked)).toEqual({ listingFromRepo: listing });
    expect(await dataOf(world, get, { variables: { id: "x" } })).toEqual({ listing: null });
    const unknown = { variables: { repoOwner: "o", repoName: "n" } };
    expect(await dataOf(world, fromRepo, unknown)).toEqual({ listingFromRepo: null });
  });

  test("creates an endpoint of a listing that runs on CPUs", async () => {
    await using world = await setup();
    const { listing } = await dataOf(
      world,
      `{ listing(id: "millrace.echo") { listedRelease { id build { imageName } } } }`,
    );
    const { id: hubReleaseId, build } = listing.listedRelease;
    const input = {
      ...{ name: "Echo", hubReleaseId, instanceIds: ["cpu3g-4-16"], workersMin: 0, workersMax: 3 },
      ...{ flashBootType: "FLASHBOOT" },
      template: {
        ...{ name: "Echo__template__abc", imageName: build.imageName, containerDiskInGb: 5, dockerArgs: "" },
        env: [{ key: "LEVEL", value: "3" }],
      },
    };
    const save =
      "mutation ($input: EndpointInput!) { saveEndpoint(input: $input) { id name hubReleaseId template { dockerArgs env { key value } } } }";
    const { saveEndpoint } = await dataOf(world, save, { variables: { input } });
    expect(saveEndpoint).toMatchObject({
      ...{ name: "Echo", hubReleaseId },
      // The release has what the client cannot send.
      template: { dockerArgs: "run it", env: expect.arrayContaining([{ key: "FIXED", value: "always" }]) },
    });
    const { json } = await world.call("GET", `/v2/hub/deployments/${saveEndpoint.id}`);
    expect(json).toMatchObject({ listingId: "millrace.echo", releaseId: hubReleaseId, test: "NONE" });
  });
});

describe("runpod-mcp", () => {
  test("lists all without a key, with an empty input", async () => {
    await using world = await setup({ listingSources: [many()] });
    const { listings } = await dataOf(world, `query { listings(input: {}) { ${WHOLE} } }`, { key: null });
    expect(listings.map(({ repoOwner, repoName }: Record<string, string>) => `${repoOwner}/${repoName}`)).toEqual([
      "other/ape",
      "millrace/echo",
      "other/zebra",
    ]);
  });

  test("deploys a release, with a list of CUDA versions and its least one at once", async () => {
    const config = { ...hubJson.config, runsOn: "GPU", gpuIds: "ADA_24", allowedCudaVersions: ["12.8", "12.7"] };
    const files = { "owner/name/.runpod/hub.json": JSON.stringify({ ...hubJson, config }) };
    await using world = await setup({ listingSources: [new MemoryListings(files)] });
    const { listings } = await dataOf(world, `{ listings(input: {}) { ${WHOLE} } }`, { key: null });
    const { id: hubReleaseId, build } = listings[0].listedRelease;
    const input = {
      ...{ name: "Echo v1", hubReleaseId, type: "QB", gpuIds: "ADA_24", gpuCount: 1, workersMin: 0, workersMax: null },
      ...{ idleTimeout: 5, scalerType: "QUEUE_DELAY", scalerValue: 4, executionTimeoutMs: 600_000 },
      ...{ flashBootType: "FLASHBOOT", locations: null, networkVolumeIds: null, compliance: [], modelReferences: [] },
      ...{ minCudaVersion: "12.7", allowedCudaVersions: "12.8,12.7" },
      template: {
        ...{
          name: "Echo v1__template__x",
          imageName: build.imageName,
          containerDiskInGb: 5,
          containerRegistryAuthId: "",
        },
        ...{ dockerArgs: "", startScript: "", ports: "", env: [{ key: "LEVEL", value: "3" }] },
      },
    };
    const save = `mutation saveEndpoint($input: EndpointInput!) { saveEndpoint(input: $input) {
      id name gpuIds gpuCount workersMin workersMax idleTimeout scalerType scalerValue flashBootType templateId } }`;
    const { saveEndpoint } = await dataOf(world, save, { variables: { input } });
    expect(saveEndpoint).toMatchObject({ name: "Echo v1", gpuIds: "ADA_24", workersMax: 3 });
    const { json } = await world.call("GET", `/v2/serverless/${saveEndpoint.id}`);
    expect(json).toMatchObject({
      gpu: { allowedCudaVersions: ["12.8", "12.7"], minCudaVersion: null },
      args: "run it",
    });
  });
});

test("a release of another hub is noted, and nothing is added", async () => {
  await using world = await setup();
  const save = `mutation { saveEndpoint(input: { name: "abc", hubReleaseId: "r1", gpuIds: "ADA_24",
    template: { name: "t", imageName: "x:1" } }) { id hubReleaseId } }`;
  const { saveEndpoint } = await dataOf(world, save);
  expect(saveEndpoint.hubReleaseId).toBe("r1");
  expect((await world.call("GET", `/v2/hub/deployments/${saveEndpoint.id}`)).status).toBe(404);
});
