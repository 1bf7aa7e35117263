/** Direct routes: which paths are found in the table, and which are left to the router. */
import { expect, test } from "vitest";
import { DirectRoutes } from "./direct-routes.ts";

const ENDPOINT = "ab12cd34ef56gh";

function table(): DirectRoutes {
  const routes = new DirectRoutes();
  routes.add(["POST"], "/run", () => "run");
  routes.add(["GET", "POST"], "/status/:job", () => "status");
  routes.add(["POST"], "/job-done/:worker/:job", () => "done");
  routes.add(["GET"], "/openai/*", () => "openai");
  return routes;
}

test.for([
  ["POST", `/v2/${ENDPOINT}/run`, { endpoint: ENDPOINT }],
  ["POST", `/v2/${ENDPOINT}/run?wait=1000`, { endpoint: ENDPOINT }],
  ["GET", `/v2/${ENDPOINT}/status/sync-0199-u1`, { endpoint: ENDPOINT, job: "sync-0199-u1" }],
  ["POST", `/v2/${ENDPOINT}/status/a.b~c_d`, { endpoint: ENDPOINT, job: "a.b~c_d" }],
  ["POST", `/v2/${ENDPOINT}/job-done/w1/j1?isStream=false`, { endpoint: ENDPOINT, worker: "w1", job: "j1" }],
] as const)("%s %s is found, with the pieces of its path", ([method, url, params]) => {
  expect(table().find(method, url)?.params).toEqual(params);
});

test.for([
  ["a method that the route does not have", "GET", `/v2/${ENDPOINT}/run`],
  ["a word that is none", "POST", `/v2/${ENDPOINT}/runs`],
  ["a piece too few", "GET", `/v2/${ENDPOINT}/status`],
  ["a piece too many", "POST", `/v2/${ENDPOINT}/run/j1`],
  ["three pieces", "POST", `/v2/${ENDPOINT}/job-done/w1/j1/x`],
  ["a resource where the endpoint would be", "POST", "/v2/secrets/run"],
  ["a slash at the end", "POST", `/v2/${ENDPOINT}/run/`],
  ["two slashes", "POST", `/v2/${ENDPOINT}//run`],
  ["something to decode", "GET", `/v2/${ENDPOINT}/status/j%31`],
  ["a query within the path", "POST", `/v2/${ENDPOINT}/job-done/w1/j1&isStream=false`],
  ["a path of any length", "GET", `/v2/${ENDPOINT}/openai/v1`],
] as const)("%s is left to the router", ([, method, url]) => {
  expect(table().find(method, url)).toBeUndefined();
});
