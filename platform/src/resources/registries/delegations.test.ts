/** Delegations: records of ECR repositories that are to be opened without a password. */
import { describe, expect, test } from "vitest";
import { setup } from "../../../tests/world.ts";
import { parseEcrArn } from "./arn.ts";

const DELEGATIONS = "/v2/registries/delegations";
const ARN = "arn:aws:ecr:us-east-2:123456789012:repository/team/model";

describe("a delegation", () => {
  test("is made from an ARN, listed and revoked", async () => {
    await using world = await setup();
    const made = await world.call("POST", DELEGATIONS, { body: { resource: ARN, name: "models" } });
    expect([made.status, made.json]).toEqual([
      201,
      {
        id: expect.stringMatching(/^[a-z0-9]{14}$/),
        delegatorUserId: world.owner.user,
        name: "models",
        awsUser: "123456789012",
        awsRegion: "us-east-2",
        repository: "team/model",
        tag: "latest",
        dockerRegistryUri: "123456789012.dkr.ecr.us-east-2.amazonaws.com",
        createdAt: expect.stringMatching(/Z$/),
      },
    ]);
    expect((await world.call("GET", DELEGATIONS)).json).toEqual({ delegations: [made.json] });
    expect((await world.call("DELETE", `${DELEGATIONS}/${made.json.id}`)).status).toBe(204);
    expect((await world.call("DELETE", `${DELEGATIONS}/${made.json.id}`)).json.detail).toBe("delegation not found");
    expect((await world.call("GET", DELEGATIONS)).json).toEqual({ delegations: [] });
  });

  test("needs no name, and is no registry", async () => {
    await using world = await setup();
    const { json } = await world.call("POST", DELEGATIONS, { body: { resource: ARN } });
    expect(json.name).toBe(null);
    expect((await world.call("GET", "/v2/registries")).json).toEqual({ registries: [] });
    expect((await world.call("GET", `/v2/registries/${json.id}`)).status).toBe(404);
  });

  test("is not there for another account", async () => {
    await using world = await setup();
    const { json } = await world.call("POST", DELEGATIONS, { body: { resource: ARN } });
    const key = await world.strangersKey();
    expect((await world.call("DELETE", `${DELEGATIONS}/${json.id}`, { key })).status).toBe(404);
    expect((await world.call("GET", DELEGATIONS, { key })).json).toEqual({ delegations: [] });
  });

  test.each([
    "arn:aws:s3:::bucket",
    "arn:aws:ecr:us-east-2:12345:repository/team/model",
    "arn:aws:ecr::123456789012:repository/team/model",
    "arn:aws:ecr:us-east-2:123456789012:image/team/model",
    "123456789012.dkr.ecr.us-east-2.amazonaws.com/team/model",
    `${ARN}:latest`,
  ])("422: %s is no repository", async (resource) => {
    await using world = await setup();
    const { status, json } = await world.call("POST", DELEGATIONS, { body: { resource } });
    expect([status, json.errors]).toEqual([422, [expect.stringContaining("$.resource: must be the ARN")]]);
  });

  test("is told where a pull needs it, and only there", async () => {
    await using world = await setup();
    await world.call("POST", DELEGATIONS, { body: { resource: ARN } });
    const { account } = world.owner;
    const access = (image: string) => world.services.registries.accessTo({ account, image, registry: null });
    const { ifDenied } = await access("123456789012.dkr.ecr.us-east-2.amazonaws.com/team/model:3");
    expect(ifDenied).toContain("this installation has no identity at AWS; create a registry with the user name 'AWS'");
    expect(await access("123456789012.dkr.ecr.us-east-2.amazonaws.com/team/other:3")).toEqual({});
    expect(await access("registry.test/team/model:3")).toEqual({});
  });
});

test("regions of other partitions have a registry in another domain", () => {
  expect(parseEcrArn("arn:aws-cn:ecr:cn-north-1:123456789012:repository/m1")?.host).toBe(
    "123456789012.dkr.ecr.cn-north-1.amazonaws.com.cn",
  );
  expect(parseEcrArn("arn:aws-us-gov:ecr:us-gov-west-1:123456789012:repository/m1")?.awsRegion).toBe("us-gov-west-1");
});
