/** One refusal, as each surface says it: what it means is the same everywhere, and its status and form are the surface's. */
import { describe, expect, test } from "vitest";
import { type Meaning, meanings, problem } from "../kernel/problem.ts";
import { problemJson, problemStatuses } from "./http/problem-json.ts";
import { flatError, invokeStatuses } from "./invoke/surface.ts";
import { messageJson, restV1Statuses } from "./rest-v1/refusals.ts";
import { linkStatuses } from "./worker-link/statuses.ts";

const tables = {
  "REST v2": problemStatuses,
  "REST v1": restV1Statuses,
  invocation: invokeStatuses,
  "the worker link": linkStatuses,
};

describe.each(Object.entries(tables))("%s", (_, statuses) => {
  test.each(Object.keys(meanings) as Meaning[])("has an error status for %s", (meaning) => {
    expect(statuses[meaning]).toBeGreaterThanOrEqual(400);
    expect(statuses[meaning]).toBeLessThan(600);
  });
});

test("no meaning is called after a status of HTTP", () => {
  const ofHttp = ["forbidden", "conflict", "gone", "bad-request", "not-acceptable", "bad-gateway", "payload-too-large"];
  expect(ofHttp.filter((word) => word in meanings)).toEqual([]);
});

test("what is invalid, or in a wrong state, is called so by REST v2, and a bad request by REST v1 and invocation", () => {
  const of = (meaning: Meaning) => Object.values(tables).map((statuses) => statuses[meaning]);
  expect([of("invalid"), of("wrong-state"), of("conflicting")]).toEqual([
    [422, 400, 400, 400],
    [409, 400, 400, 400],
    [409, 400, 409, 409],
  ]);
});

test("a worker sends its result again after a fault of the server", () => {
  expect([linkStatuses.fault, invokeStatuses.fault, problemStatuses.fault]).toEqual([503, 500, 500]);
});

test("the same refusal in the forms of three surfaces", () => {
  const refusal = problem("wrong-state", "cannot retry while COMPLETED", { word: "not retryable" });
  expect(JSON.parse(problemJson(refusal).body)).toEqual({
    ...{ title: "Conflict", status: 409 },
    detail: "cannot retry while COMPLETED",
  });
  const message = "cannot retry while COMPLETED";
  expect(JSON.parse(messageJson(refusal).body)).toEqual({ message, error: message, status: 400 });
  expect(JSON.parse(flatError(refusal, invokeStatuses).body)).toEqual({
    error: "not retryable",
    message: "cannot retry while COMPLETED",
  });
});
