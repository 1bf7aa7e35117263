/** What the API server's refusals mean for a start. */
import { expect, test } from "vitest";
import { StartRefused } from "../../ports/compute/compute.ts";
import { KubeAway, KubeRefused } from "./kube-api.ts";
import { refusalFrom } from "./pod-maker.ts";

test.each([
  [
    403,
    'pods "x" is forbidden: exceeded quota: small, requested: pods=1, used: pods=1, limited: pods=1',
    "quota-refused",
  ],
  [
    403,
    'pods is forbidden: User "x" cannot create resource "pods" in API group "" in the namespace "y"',
    "engine-refused",
  ],
  [403, 'pods "x" is forbidden: violates PodSecurity "restricted:latest"', "engine-refused"],
  [422, 'Pod "x" is invalid: spec.containers[0].image: Required value', "engine-refused"],
])("%d %s", (status, message, reason) => {
  const refusal = refusalFrom(new KubeRefused(status, "Forbidden", message));
  expect(refusal).toBeInstanceOf(StartRefused);
  expect(refusal).toMatchObject({ reason, message: expect.stringContaining(message) });
});

test("a server that is busy or away refuses nothing", () => {
  for (const error of [new KubeAway("no answer"), new KubeRefused(503, "", "starting")])
    expect(refusalFrom(error)).toBe(error);
});
