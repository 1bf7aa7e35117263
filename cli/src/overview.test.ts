/** The requests of `millrace ps` and `millrace top` are those of the API's operations. */
import { jobOperations } from "@millrace/platform/jobs/operations.ts";
import { endpointOperations } from "@millrace/platform/resources/endpoints/operations.ts";
import { podOperations } from "@millrace/platform/resources/pods/operations.ts";
import { workerOperations } from "@millrace/platform/resources/workers/operations.ts";
import { expect, test } from "vitest";
import { asked } from "./overview.ts";

const operations = { ...podOperations, ...endpointOperations, ...workerOperations, ...jobOperations };

test.each(Object.entries(asked))("%s has the method and the path of its operation", (name, { method, path }) => {
  expect(operations[name as keyof typeof asked]).toMatchObject({ method, path });
});
