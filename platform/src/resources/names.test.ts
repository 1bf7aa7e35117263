/** Claimed names: the rules are the same for Pods, endpoints and volumes, on every surface and node. */
import { describe, expect, test } from "vitest";
import { type PodWorld, setupPods } from "../../tests/pod-world.ts";
import type { Caller } from "../kernel/caller.ts";
import type { Naming } from "./names.ts";

type Make = (name: string, naming?: Naming) => Promise<{ id: string; doc: { name: string } }>;

interface Kind {
  make: Make;
  rename(id: string, name: string, naming?: Naming): Promise<unknown>;
}

function kindsOf(world: PodWorld): Record<string, Kind> {
  const caller = { ...world.owner, key: "k", grants: [{ scope: "all" }], exempt: true } as unknown as Caller;
  const { pods, endpoints, volumes } = world.services;
  const cpu = [{ id: "cpu3c", vcpuCount: 2 }];
  const volume = { size: 10, dataCenter: "EU-RO-1" };
  return {
    Pod: {
      make: (name, naming) => pods.create(caller, { name, image: "host:/app", cpu }, naming),
      rename: (id, name, naming) => pods.update(caller, id, { name }, naming),
    },
    endpoint: {
      make: (name, naming) => endpoints.create(caller, { name, image: "host:/app", cpu }, naming),
      rename: (id, name, naming) => endpoints.update(caller, id, { name }, naming),
    },
    "network volume": {
      make: (name, naming) => volumes.create(caller, { name, ...volume }, naming),
      rename: (id, name, naming) => volumes.update(caller, id, { name }, naming),
    },
  };
}

const UNIQUE = { uniqueName: true };

describe.each(["Pod", "endpoint", "network volume"])("the name of a %s", (called) => {
  const taken = expect.objectContaining({
    code: "name-taken",
    message: expect.stringMatching(
      `^Another ${called} of this account has the name 'n'\\. .* MILLRACE_UNIQUE_NAMES=off\\.$`,
    ),
  });

  test("that is claimed is nobody else's, also when one that did not claim it has it", async () => {
    await using world = await setupPods();
    const { make } = kindsOf(world)[called]!;
    await make("n");
    await expect(make("n", UNIQUE)).rejects.toEqual(taken);
    await make("m", UNIQUE);
    expect((await make("m")).doc.name).toBe("m");
  });

  test("goes to one of two that claim it at once", async () => {
    await using world = await setupPods();
    const { make } = kindsOf(world)[called]!;
    const both = await Promise.allSettled([make("n", UNIQUE), make("n", UNIQUE)]);
    expect(both.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    expect(both.find(({ status }) => status === "rejected")).toMatchObject({ reason: taken });
  });

  test("that nobody gave gets a suffix where it is taken", async () => {
    await using world = await setupPods();
    const { make } = kindsOf(world)[called]!;
    const naming = { ...UNIQUE, isDefaultName: true };
    expect((await make("n", naming)).doc.name).toBe("n");
    expect((await make("n", naming)).doc.name).toMatch(/^n-[a-z0-9]{6}$/);
  });

  test("is claimed by a new name too, given up by one that claims nothing, and one's own again", async () => {
    await using world = await setupPods();
    const { make, rename } = kindsOf(world)[called]!;
    const first = await make("n", UNIQUE);
    const second = await make("m", UNIQUE);
    await expect(rename(second.id, "n", UNIQUE)).rejects.toEqual(taken);
    await rename(first.id, "n", UNIQUE);
    await rename(first.id, "other");
    await rename(second.id, "n", UNIQUE);
    await rename(first.id, "n");
    await expect(make("n", UNIQUE)).rejects.toEqual(taken);
  });

  test("is anybody's where the installation does not hold to it", async () => {
    await using world = await setupPods({ uniqueNames: false });
    const { make, rename } = kindsOf(world)[called]!;
    await make("n", UNIQUE);
    const { id } = await make("n", UNIQUE);
    await rename(id, "n", UNIQUE);
  });
});
