/** One refusal on each surface: its meaning is the same everywhere, and each surface chooses the status and the form. */
import { describe, expect, test } from "vitest";
import { setup } from "../../tests/world.ts";
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

describe("the code of the reason is in a header, beside the body that the specification fixes:", () => {
  test.each([
    ["REST v2", "/v2/account/secrets"],
    ["REST v1", "/v1/pods"],
    ["invocation", "/v2/none/status/x"],
    ["GraphQL", "/graphql?query={myself{id}}"],
  ])("%s", async (_, path) => {
    await using world = await setup();
    const { headers } = await world.call("GET", path, { key: "wrong" });
    expect(headers.get("x-reason-code")).toBe("key-unknown");
  });

  test("a resource that is not there, and an answer that is no refusal", async () => {
    await using world = await setup();
    const missing = await world.call("GET", "/v2/pods/none");
    expect([missing.status, missing.headers.get("x-reason-code")]).toEqual([404, "not-found"]);
    expect((await world.call("GET", "/v2/pods")).headers.has("x-reason-code")).toBe(false);
  });

  test("a key without the scope", async () => {
    await using world = await setup();
    const key = await world.newKey({ scopes: ["secrets:read"] });
    const { status, headers } = await world.call("GET", "/v2/pods", { key });
    expect([status, headers.get("x-reason-code")]).toEqual([403, "scope-missing"]);
  });
});
