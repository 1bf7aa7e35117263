/** Networks of the host driver that span machines. Two drivers on this one stand for two machines. */
import { beforeEach } from "vitest";
import { spansConformance } from "../../ports/compute/spans.conformance.ts";
import { openHostAt } from "./host-world.ts";
import { missingForTests } from "./machine.ts";

const missing = await missingForTests();
beforeEach(({ skip }) => skip(missing !== undefined, missing));

spansConformance("HostCompute", async () => [
  await openHostAt("127.0.0.1", 17_423),
  await openHostAt("127.0.0.2", 17_433),
]);
