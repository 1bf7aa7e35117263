/** The router: which paths lead to which answer, and what happens to paths that lead nowhere. */
import { expect, test } from "vitest";
import type { Answering } from "./reply.ts";
import { MAX_PARAMETER_LENGTH, Router } from "./router.ts";

const ENDPOINT = "ab12cd34ef56gh";

const named =
  (name: string): Answering =>
  () =>
    name;

function setup(): Router {
  const router = new Router({ badPath: named("bad path") });
  router.unknown = named("unknown");
  router.add(["POST"], "/v2/{endpoint}/run", named("run"));
  router.add(["GET", "POST"], "/v2/{endpoint}/status/{job}", named("status"));
  router.addExactly(["GET"], "/v2/{endpoint}/job-take/{worker}", named("take"));
  router.addExactly(["POST"], "/v2/{endpoint}/job-done/{worker}/{job}", named("done"));
  router.add(["GET"], "/v2/{endpoint}/openai/{path*}", named("openai"));
  router.add(["GET"], "/v2/serverless", named("list"));
  router.addRefusal("/v2/{endpoint}/run", named("not allowed"), ["GET", "PUT"]);
  router.addRefusal("/v2/{endpoint}/{path*}", named("not found"));
  router.addRefusal("/v2/serverless/{path*}", named("no resource"));
  return router;
}

function found(method: string, url: string): [unknown, Record<string, string>] {
  const { answer, params } = setup().find(method, url);
  return [answer(undefined as never, undefined as never, params), { ...params }];
}

test.for([
  ["POST", `/v2/${ENDPOINT}/run`, "run", {}],
  ["POST", `/v2/${ENDPOINT}/run?wait=1000`, "run", {}],
  ["POST", `/v2/${ENDPOINT}/run#part`, "run", {}],
  ["POST", `http://millrace:7420/v2/${ENDPOINT}/run`, "run", {}],
  ["GET", `/v2/${ENDPOINT}/status/sync-0199-u1`, "status", { job: "sync-0199-u1" }],
  ["HEAD", `/v2/${ENDPOINT}/status/sync-0199-u1`, "status", { job: "sync-0199-u1" }],
  ["POST", `/v2/${ENDPOINT}/status/a.b~c_d`, "status", { job: "a.b~c_d" }],
  ["POST", `/v2/${ENDPOINT}/job-done/w1/j1?isStream=false`, "done", { worker: "w1", job: "j1" }],
  ["POST", `/v2/${ENDPOINT}/job-done/w1/j1&isStream=false`, "done", { worker: "w1", job: "j1&isStream=false" }],
  ["GET", `/v2/${ENDPOINT}/openai/v1/chat/completions`, "openai", { "*": "v1/chat/completions" }],
  ["GET", `/v2/${ENDPOINT}/openai`, "not found", { "*": "openai" }],
] as const)("%s %s leads to %s, with the pieces of its path", ([method, url, name, params]) => {
  expect(found(method, url)).toEqual([name, { endpoint: ENDPOINT, ...params }]);
});

test.for([
  ["a slash at the end", "POST", `/v2/${ENDPOINT}/run/`, "run"],
  ["slashes too many", "POST", `//v2///${ENDPOINT}//run`, "run"],
  ["something to decode", "GET", `/v2/${ENDPOINT}/statu%73/j%31`, "status"],
] as const)("%s changes nothing", ([, method, url, name]) => {
  expect(found(method, url)[0]).toBe(name);
});

test("a slash within a name stays in it", () => {
  expect(found("GET", `/v2/${ENDPOINT}/status/a%2Fb`)).toEqual(["status", { endpoint: ENDPOINT, job: "a/b" }]);
});

test.for([
  ["a method that the path does not have", "PUT", `/v2/${ENDPOINT}/run`, "not allowed"],
  ["HEAD where GET is not allowed", "HEAD", `/v2/${ENDPOINT}/run`, "not allowed"],
  ["HEAD where GET takes something", "HEAD", `/v2/${ENDPOINT}/job-take/w1`, "not found"],
  ["a word that is none", "POST", `/v2/${ENDPOINT}/runs`, "not found"],
  ["a word in other letters", "POST", `/v2/${ENDPOINT}/RUN`, "not found"],
  ["a piece too few", "GET", `/v2/${ENDPOINT}/status`, "not found"],
  ["a piece too many", "POST", `/v2/${ENDPOINT}/run/j1`, "not found"],
  ["a name that is too long", "GET", `/v2/${ENDPOINT}/status/${"x".repeat(MAX_PARAMETER_LENGTH + 1)}`, "not found"],
  ["a resource where the endpoint would be", "POST", "/v2/serverless/run", "no resource"],
  ["another version", "POST", `/v3/${ENDPOINT}/run`, "unknown"],
  ["a method that nothing has", "PROPFIND", `/v2/${ENDPOINT}/run`, "unknown"],
  ["a path that cannot be decoded", "GET", `/v2/${ENDPOINT}/status/%zz`, "bad path"],
  ["no path", "OPTIONS", "*", "unknown"],
] as const)("%s: %s", ([, method, url, name]) => {
  expect(found(method, url.slice(0, 2000))[0]).toBe(name);
});

test("says what is mounted", () => {
  const router = setup();
  expect(router.mounted).toContainEqual({ method: "HEAD", path: "/v2/{endpoint}/status/{job}", refuses: false });
  expect(router.mounted).toContainEqual({ method: "GET", path: "/v2/{endpoint}/run", refuses: true });
});

test("the same method of the same path cannot have two answers", () => {
  expect(() => setup().add(["POST"], "/v2/{other}/run", named("again"))).toThrow("already declared");
});
