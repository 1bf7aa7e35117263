/** The credentials with which workers pull their images. */
import { expect, test } from "vitest";
import { setupFleet } from "../../../../tests/fleet-world.ts";
import { FakeRegistry } from "../../../ports/compute/fake-registry.ts";

const PRIVATE = "registry.example/team/model:1";
const CREDENTIAL = { username: "reader", password: "open sesame" };

test("a private image: refused without a registry, run with it, and as its credential is at that moment", async () => {
  const registry = new FakeRegistry();
  registry.put(PRIVATE, "content", CREDENTIAL);
  await using world = await setupFleet({ machine: { registry }, endpoint: { image: PRIVATE } });
  const job = await world.submit();
  await world.settle();
  expect((await world.status(job)).waitReason).toContain(`boot failed: cannot pull ${PRIVATE}: unauthorized`);
  const body = { name: "team", ...CREDENTIAL };
  const made = (await world.call("POST", "/v2/registries", { body })).json;
  await world.change({ registry: made.id });
  await world.pass(2);
  expect(world.running()).toHaveLength(1);
  expect(world.logged.join()).not.toContain(CREDENTIAL.password);
});

test("an image of a delegated repository: the refusal says why it is not pulled through it", async () => {
  const image = "123456789012.dkr.ecr.us-east-2.amazonaws.com/team/model:1";
  const registry = new FakeRegistry();
  registry.put(image, "content", CREDENTIAL);
  await using world = await setupFleet({ machine: { registry }, endpoint: { image } });
  const resource = "arn:aws:ecr:us-east-2:123456789012:repository/team/model";
  await world.call("POST", "/v2/registries/delegations", { body: { resource } });
  const job = await world.submit();
  await world.settle();
  expect((await world.status(job)).waitReason).toMatch(/unauthorized: repository 'team\/model' of AWS account/);
});
