/** What refers to a volume or a registry is found in the lists of Pods, endpoints and templates. */
import { expect, test } from "vitest";
import { usersOfRegistry, usersOfVolume } from "./used-by.ts";

const pod = (id: string, mounts: object, registry: string | null = null) => ({
  id,
  name: `pod ${id}`,
  mounts,
  registry,
});
const endpoint = (id: string, networkVolumes: string[], registry: string | null = null) => ({
  ...{ id, name: `endpoint ${id}`, networkVolumes, registry },
});

test("a volume is used by Pods that mount it, with the place, and by endpoints that name it", () => {
  const pods = [pod("p1", { network: [{ volumeId: "v1", path: "/data" }] }), pod("p2", {})];
  const endpoints = [endpoint("e1", ["v1"]), endpoint("e2", ["v2"])];
  expect(usersOfVolume("v1", { pods, endpoints } as never)).toEqual([
    { kind: "Pod", id: "p1", name: "pod p1", to: "/pods/p1", how: "at /data" },
    { kind: "endpoint", id: "e1", name: "endpoint e1", to: "/serverless/e1" },
  ]);
});

test("a registry is used by whatever names it, templates too", () => {
  const known = {
    pods: [pod("p1", {}, "r1"), pod("p2", {})],
    endpoints: [endpoint("e1", [], "r1")],
    templates: [{ id: "t1", name: "template t1", registry: "r1" }],
  };
  expect(usersOfRegistry("r1", known as never).map(({ to }) => to)).toEqual([
    "/pods/p1",
    "/serverless/e1",
    "/templates/t1",
  ]);
});

test("what is not read yet uses nothing", () => {
  expect(usersOfVolume("v1", {})).toEqual([]);
});
