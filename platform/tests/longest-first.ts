/** The order in which test files begin: the longest first, so that no single one is waited for at the end. */
import { basename } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * Vitest knows durations only on a machine that has run the tests before; elsewhere it begins with the largest files, and some of the
 * smallest take longest. These always come first.
 */
const LONGEST = [
  "hostile.real.test.ts",
  "host-plain.real.test.ts",
  "host-compute.real.test.ts",
  "silent-postgres.real.test.ts",
  "stall.real.test.ts",
  "host-crash.real.test.ts",
  "master-key.real.test.ts",
  "kill.real.test.ts",
  "trouble.real.test.ts",
  "serve.real.test.ts",
  "accessibility.real.test.ts",
  "walk.real.test.ts",
  "refused-bodies.real.test.ts",
  "large-output.real.test.ts",
  "batches.real.test.ts",
  "body.real.test.ts",
  "balanced-memory.real.test.ts",
  "crash.real.test.ts",
  "postgres-restart.real.test.ts",
  "sqlite-queue.test.ts",
  "hostile-forwards.test.ts",
  "secret-limits.test.ts",
  "tenancy.test.ts",
];

const placeOf = ({ moduleId }: TestSpecification) => {
  const place = LONGEST.indexOf(basename(moduleId));
  return place === -1 ? LONGEST.length : place;
};

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).toSorted((one, other) => placeOf(one) - placeOf(other));
  }
}
