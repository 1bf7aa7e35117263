/** The machine of a test's world: one box, or a cluster of boxes that starts programs late if the test project says so. */
import type { Clock } from "../src/kernel/clock.ts";
import type { Box } from "../src/ports/compute/compute.ts";
import { FakeCompute, type FakeOptions } from "../src/ports/compute/fake-compute.ts";

export const isOnCluster = process.env.MILLRACE_TEST_MACHINE === "cluster";

export const openFakeMachine = (clock: Clock, options: FakeOptions = {}): FakeCompute =>
  new FakeCompute(clock, isOnCluster ? asCluster(options) : options);

const ROOMY: Omit<Box, "id"> = { vcpu: 64, memoryMb: 262_144, diskGb: 1_000, gpus: [], ceilings: false };
const EMPTY: Omit<Box, "id"> = { vcpu: 0, memoryMb: 0, diskGb: 0, gpus: [], ceilings: false };

/** If a test sets the capacity, one box has it and another has nothing, so that the total is the same. */
function asCluster(options: FakeOptions): FakeOptions {
  const { capacity } = options;
  if (Array.isArray(capacity)) return { isCluster: true, ...options };
  const others = capacity ? [EMPTY] : [ROOMY, ROOMY];
  const boxes = [{ ...ROOMY, ...capacity }, ...others].map((box, index) => ({ ...box, id: `box-${index + 1}` }));
  return { isCluster: true, ...options, capacity: boxes };
}
