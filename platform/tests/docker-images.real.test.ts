/** Who may run which image, on a real engine with a real registry. */
import { expect, test } from "vitest";
import { realClock } from "../src/kernel/clock.ts";
import { Images } from "../src/machines/images.ts";
import { StartRefused } from "../src/ports/compute/compute.ts";
import { found, linesOf } from "../src/ports/compute/conformance-world.ts";
import { MemoryStore } from "../src/ports/store/memory-store.ts";
import { dockerSpec, dockerWorld, shell } from "./docker-world.ts";
import { CREDENTIAL, startRegistry } from "./image-registry.ts";
import { TEST_IMAGE } from "./real-docker.ts";

async function setup() {
  const world = await dockerWorld();
  const store = new MemoryStore();
  let images = new Images({ store, compute: world.compute, clock: realClock });
  const told: string[] = [];
  return Object.assign(world, {
    told,
    restart() {
      images = new Images({ store, compute: world.compute, clock: realClock });
    },
    prepare: (account: string, image: string, credential?: typeof CREDENTIAL) =>
      images.prepare({ account, image, box: "machine", credential, progress: (line) => told.push(line) }),
    /** Runs the image's program for an account, and returns what it writes. */
    async run(id: string, account: string, image: string, credential?: typeof CREDENTIAL) {
      const exact = await this.prepare(account, image, credential);
      await world.compute.start(id, dockerSpec([], { account, image: exact, cmd: [] }));
      return (await linesOf(world.compute, id)).lines;
    },
  });
}

test.concurrent("a private image: an account without the credential is refused although the image is there; an imported one runs for both", async () => {
  await using registry = await startRegistry();
  await using world = await setup();
  expect(await world.run("private-a", "a", registry.image, CREDENTIAL)).toEqual(["pulled"]);
  const exact = await world.prepare("a", registry.image, CREDENTIAL);
  for (const image of [registry.image, exact]) {
    const refused = world.prepare("b", image);
    await expect(refused).rejects.toBeInstanceOf(StartRefused);
    await expect(refused).rejects.toThrow(/cannot pull 127\.0\.0\.1.*auth/i);
  }
  expect(await world.compute.list()).toHaveLength(1);
  for (const account of ["a", "b"]) {
    const image = await world.prepare(account, TEST_IMAGE);
    await world.compute.start(`open-${account}`, shell("echo imported", { account, image }));
    expect((await linesOf(world.compute, `open-${account}`)).lines).toEqual(["imported"]);
  }
  expect(world.told.join()).not.toContain(CREDENTIAL.password);
});

test.concurrent("with the registry away, who has proved before runs it, also after a restart, and who has not is refused with that reason", async () => {
  await using registry = await startRegistry();
  await using world = await setup();
  await world.prepare("a", registry.image, CREDENTIAL);
  await registry.stop();
  world.restart();
  expect(await world.run("away-a", "a", registry.image, CREDENTIAL)).toEqual(["pulled"]);
  expect(world.told.at(-1)).toMatch(/could not be asked \(.*connection refused\)/);
  await expect(world.prepare("b", registry.image, CREDENTIAL)).rejects.toThrow(
    /registry could not be asked \(.*refused\), and this account has not shown before/,
  );
  await registry.start();
  expect(await world.run("back-b", "b", registry.image, CREDENTIAL)).toEqual(["pulled"]);
});

test.concurrent("a tag that moved is run as it is now, and what runs goes on", async () => {
  await using registry = await startRegistry();
  await using world = await setup();
  const image = await world.prepare("a", registry.image, CREDENTIAL);
  const stays = { image, account: "a", entrypoint: ["/busybox", "sleep", "1000"], cmd: [] };
  await world.compute.start("old", dockerSpec([], stays));
  await registry.put("1", "moved");
  expect(await world.run("new", "a", registry.image, CREDENTIAL)).toEqual(["moved"]);
  expect(await found(world.compute, "old")).toMatchObject({ state: "running" });
});
