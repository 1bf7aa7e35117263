/** What a Pod would cost while its form is filled in. */
import { expect, test } from "vitest";
import { kindOfMounts, mountsOf } from "../../parts/mounts.ts";
import { nextPort } from "../../parts/next-port.ts";
import { fittingCount, podPrice } from "./price.ts";

const catalog = {
  gpus: [{ id: "g", price: { secure: 0.7, community: 0.4 } }],
  cpus: [{ id: "c", price: { securePerVcpu: 0.03, serverlessPerVcpu: 0.04 } }],
};

test("GPUs are paid each, by the cloud they are in", () => {
  expect(podPrice({ gpu: { id: "g", count: 2 } }, "secure", catalog)).toBeCloseTo(1.4);
  expect(podPrice({ gpu: { id: "g" } }, "community", catalog)).toBeCloseTo(0.4);
});

test("CPUs are paid by the vCPU", () => {
  expect(podPrice({ cpu: { id: "c", vcpuCount: 4 } }, "secure", catalog)).toBeCloseTo(0.12);
});

test("nothing is known until something is chosen", () => {
  expect(podPrice({ gpu: {} }, "secure", catalog)).toBeUndefined();
  expect(podPrice({ cpu: { vcpuCount: 2 } }, "secure", catalog)).toBeUndefined();
});

test("a flavor gives the wanted vCPU, or the nearest below", () => {
  expect(fittingCount([2, 4, 8], 6)).toBe(4);
  expect(fittingCount([4, 8], 2)).toBe(4);
});

test("a kind of storage begins with what can be sent, and none leaves the field out", () => {
  for (const kind of ["persistent", "network"] as const) expect(kindOfMounts(mountsOf(kind)!)).toBe(kind);
  expect(mountsOf("none")).toBeUndefined();
  expect(kindOfMounts({})).toBe("none");
});

test("a new port is one that is not in the list", () => {
  expect(nextPort([])).toBe("8080");
  expect(
    nextPort([
      ["8080", "http"],
      ["8081", "tcp"],
    ]),
  ).toBe("8082");
});
