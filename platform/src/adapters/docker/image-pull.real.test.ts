/** Images come from a registry, with the password that it asks for, and failures say why without it. */
import { expect, test } from "vitest";
import { dockerSpec, dockerWorld } from "../../../tests/docker-world.ts";
import { startRegistry } from "../../../tests/image-registry.ts";
import { TEST_IMAGE } from "../../../tests/real-docker.ts";
import { StartRefused } from "../../ports/compute/compute.ts";
import { linesOf } from "../../ports/compute/conformance-world.ts";

const CREDENTIAL = { username: "reader", password: "open-sesame" };

test.concurrent("an image is pulled with the registry's password, runs, and is not pulled again", async () => {
  await using registry = await startRegistry(CREDENTIAL);
  await using world = await dockerWorld();
  const told: string[] = [];
  await world.compute.prepare(registry.image, (line) => told.push(line), CREDENTIAL);
  expect(told.at(-1)).toMatch(/^done in [\d.]+ s$/);
  await world.compute.start("pulled", dockerSpec([], { image: registry.image, cmd: [] }));
  expect((await linesOf(world.compute, "pulled")).lines).toEqual(["pulled"]);
  told.length = 0;
  await world.compute.prepare(registry.image, (line) => told.push(line));
  expect(told).toEqual([]);
});

test.concurrent("a pull without the password, or with a wrong one, is refused with the registry's words", async () => {
  await using registry = await startRegistry(CREDENTIAL);
  await using world = await dockerWorld();
  for (const credential of [undefined, { username: "reader", password: "a-wrong-guess" }]) {
    const refused = world.compute.prepare(registry.image, () => {}, credential);
    await expect(refused).rejects.toBeInstanceOf(StartRefused);
    await expect(refused).rejects.toThrow(/cannot pull 127\.0\.0\.1.*auth/i);
    await expect(refused).rejects.not.toThrow("a-wrong-guess");
  }
});

test.concurrent("an image that the registry does not have, or whose name is none, is refused", async () => {
  await using registry = await startRegistry(CREDENTIAL);
  await using world = await dockerWorld();
  const absent = registry.image.replace(/1$/, "2");
  await expect(world.compute.prepare(absent, () => {}, CREDENTIAL)).rejects.toBeInstanceOf(StartRefused);
  await expect(world.compute.prepare("Not/An/Image", () => {})).rejects.toBeInstanceOf(StartRefused);
});

test.concurrent("nothing is told of an image that is there", async () => {
  await using world = await dockerWorld();
  await world.compute.prepare(TEST_IMAGE, (line) => expect.fail(line));
});
