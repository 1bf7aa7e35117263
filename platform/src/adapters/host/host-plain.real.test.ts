/** The host driver without bubblewrap refuses programs, or runs them as plain processes where that is allowed. */
import { expect, test } from "vitest";
import { computeConformance } from "../../ports/compute/compute.conformance.ts";
import { newId, specOf } from "../../ports/compute/conformance-world.ts";
import { openHost } from "./host-world.ts";

const bubblewrap = { cannot: "install bubblewrap (apt-get install bubblewrap)" };

test("programs are refused with what to install", async () => {
  await using world = await openHost({ bubblewrap });
  await expect(world.compute.start(newId(), specOf(world, []))).rejects.toThrow("apt-get install bubblewrap");
  expect(world.compute.isolation.warning).toContain("apt-get install bubblewrap");
  expect(world.compute.facts).toMatchObject({ sandbox: false, ownNetwork: false });
});

test("programs that may run without a sandbox come with a warning that says what to install", async () => {
  await using world = await openHost({ bubblewrap, unsandboxed: true });
  expect(world.compute.isolation.warning).toContain("apt-get install bubblewrap");
});

computeConformance("HostCompute without a sandbox", () => openHost({ bubblewrap, unsandboxed: true }));
