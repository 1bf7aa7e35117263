/** The complete lists of changes that restart a Pod, or that make a release for an endpoint's workers, in the names clients use. */
import { expect, test } from "vitest";
import { bootedIn } from "../kernel/boot.ts";
import { endpointBoots } from "./endpoints/model.ts";
import { podBoots } from "./pods/model.ts";

const container = ["args", "cmd", "disk", "entrypoint", "env", "image", "ports", "registry"];
const besideIn = (boots: Record<string, boolean>) =>
  bootedIn(boots)
    .filter((field) => !container.includes(field))
    .sort();
const inPlaceOf = (boots: Record<string, boolean>) =>
  Object.keys(boots)
    .filter((field) => !boots[field])
    .sort();

test("a Pod restarts for a change of its container and of these", () => {
  expect(bootedIn(podBoots)).toEqual(expect.arrayContaining(container));
  expect(besideIn(podBoots)).toEqual([
    ...["cloud", "countryCodes", "dataCenterIds", "globalNetworking", "gpu"],
    ...["mounts", "startJupyter", "startSsh"],
  ]);
  expect(inPlaceOf(podBoots)).toEqual([
    ...["bidPerGpu", "cpu", "idleTimeout", "interruptible", "locked", "mountPath", "name"],
    ...["stopAfter", "template", "templateId", "terminateAfter"],
  ]);
});

test("an endpoint has a new release by a change of its container and of these", () => {
  expect(bootedIn(endpointBoots)).toEqual(expect.arrayContaining(container));
  expect(besideIn(endpointBoots)).toEqual(["cpu", "dataCenterIds", "gpu", "modelReferences", "networkVolumes"]);
  expect(inPlaceOf(endpointBoots)).toEqual([
    "flashboot",
    "name",
    "scaling",
    "templateId",
    "timeout",
    "type",
    "workers",
  ]);
});
