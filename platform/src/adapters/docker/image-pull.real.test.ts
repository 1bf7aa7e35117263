/** Images come from a registry with the password that it asks for. Error messages give the reason and never the password. */
import { expect, test } from "vitest";
import { dockerSpec, dockerWorld, shell } from "../../../tests/docker-world.ts";
import { CREDENTIAL, startRegistry } from "../../../tests/image-registry.ts";
import { TEST_IMAGE } from "../../../tests/real-docker.ts";
import { type RegistryCredential, StartRefused } from "../../ports/compute/compute.ts";
import { bring, linesOf } from "../../ports/compute/conformance-world.ts";

const asking = (credential?: RegistryCredential) => ({ credential, signal: new AbortController().signal });

test.concurrent("an image is pulled with the registry's password, tells its progress, and has no name on the engine", async () => {
  await using registry = await startRegistry();
  await using world = await dockerWorld();
  const told: string[] = [];
  const exact = await world.compute.images.lookUp(registry.image, asking(CREDENTIAL));
  await bring(world.compute, exact, { progress: (line) => told.push(line), credential: CREDENTIAL });
  expect(told.at(-1)).toMatch(/^done in [\d.]+ s$/);
  const { RepoTags, RepoDigests } = await world.api.call<{ RepoTags: string[]; RepoDigests: string[] }>(
    "GET",
    `/images/${exact}/json`,
  );
  expect(RepoTags).not.toContain(registry.image);
  expect(RepoDigests).toContain(exact);
  await world.compute.start("pulled", dockerSpec([], { image: exact, cmd: [] }));
  expect((await linesOf(world.compute, "pulled")).lines).toEqual(["pulled"]);
});

test.concurrent("a registry that lets everybody in is asked without a password", async () => {
  await using registry = await startRegistry({ isPublic: true });
  await using world = await dockerWorld();
  const exact = await world.compute.images.lookUp(registry.image, asking());
  await bring(world.compute, exact);
  await world.compute.start("public", dockerSpec([], { image: exact, cmd: [] }));
  expect((await linesOf(world.compute, "public")).lines).toEqual(["pulled"]);
});

test.concurrent("without the password, or with a wrong one, a look is refused with the registry's words", async () => {
  await using registry = await startRegistry();
  await using world = await dockerWorld();
  for (const credential of [undefined, { username: "reader", password: "a-wrong-guess" }]) {
    const refused = world.compute.images.lookUp(registry.image, asking(credential));
    await expect(refused).rejects.toThrow(/cannot pull 127\.0\.0\.1.*auth/i);
    await expect(refused).rejects.not.toThrow("a-wrong-guess");
  }
});

test.concurrent("what is no name of an image is refused, and is no way to another request", async () => {
  await using world = await dockerWorld();
  for (const image of ["Not/An/Image", "../containers/json?all=1", "a b"]) {
    await expect(bring(world.compute, image)).rejects.toBeInstanceOf(StartRefused);
    await expect(world.compute.images.lookUp(image, asking())).rejects.toBeInstanceOf(StartRefused);
  }
});

test.concurrent("the beginning of an image's id is nobody's name for it", async () => {
  await using world = await dockerWorld();
  const { Id } = await world.api.call<{ Id: string }>("GET", `/images/${TEST_IMAGE}/json`);
  const hex = Id.replace("sha256:", "");
  for (const image of [hex.slice(0, 12), Id]) expect(await world.compute.images.originOf(image)).toBe("registry");
});

test.concurrent("a name that the operator gives a pulled image is the operator's", async () => {
  await using registry = await startRegistry();
  await using world = await dockerWorld();
  const exact = await world.compute.images.lookUp(registry.image, asking(CREDENTIAL));
  await bring(world.compute, exact, { credential: CREDENTIAL });
  const repo = `${world.installation}/opened`;
  await world.api.call("POST", `/images/${exact}/tag`, { query: { repo, tag: "1" } });
  expect(await world.compute.images.originOf(`${repo}:1`)).toBe("operator");
  expect(await world.compute.images.originOf(exact)).toBe("registry");
  await world.api.call("DELETE", `/images/${repo}:1`);
});

test.concurrent("nothing is told of an image that is there", async () => {
  await using world = await dockerWorld();
  await bring(world.compute, TEST_IMAGE, { progress: (line) => expect.fail(line) });
  await world.compute.start("there", shell("true"));
});
