/** Compares what public clients can do in a test with the compatibility matrix of the documentation. */
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, expect } from "vitest";
import { record, recorded, type Tried } from "../../scripts/compatibility.ts";
import { root } from "./process.ts";

/**
 * Called where the tests of one client are, with the address of their file. Each of them is an operation of that client. With
 * MILLRACE_RECORD_COMPATIBILITY=1 the results are written; without it they must be the recorded ones.
 */
export function comparedWithMatrix(file: string, { client, version }: Pick<Tried, "client" | "version">): void {
  const operations: Tried["operations"] = {};
  afterEach(({ task }) => {
    operations[task.name] = task.result?.state === "fail" ? "fails" : "works";
  });
  afterAll(() => {
    const test = relative(root, fileURLToPath(file));
    if (process.env.MILLRACE_RECORD_COMPATIBILITY) return record({ client, version, test, operations });
    const known = recorded().find((one) => one.client === client && one.version === version && one.test === test);
    expect(known, `record it: MILLRACE_RECORD_COMPATIBILITY=1 npx vitest run ${test}`).toMatchObject({ operations });
  });
}
