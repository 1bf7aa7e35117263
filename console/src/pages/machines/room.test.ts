/** What is free on machines adds up to what is free in the installation. */
import type { InstallationMachine } from "@millrace/platform/resources/installation/model.ts";
import { expect, test } from "vitest";
import { amountsOf, roomOf, textOfAmount } from "./room.ts";

const machine = (state: InstallationMachine["state"], freeGpus: number) =>
  ({
    state,
    capacity: { vcpuCount: 16, memory: 64, disk: 500, gpus: [{ id: "A40", count: 4, virtual: false }] },
    free: {
      vcpuCount: 10,
      memory: 63.96,
      disk: 500,
      gpus: freeGpus > 0 ? [{ id: "A40", count: freeGpus, virtual: false }] : [],
    },
  }) as unknown as InstallationMachine;

test("a GPU type that is not among the free ones is used up", () => {
  expect(amountsOf(machine("UP", 0)).find(({ id }) => id === "A40")).toMatchObject({ used: 4, most: 4 });
});

test("silent machines do not count", () => {
  const room = roomOf([machine("UP", 3), machine("DRAINING", 4), machine("SILENT", 4)]);
  expect(room.map(({ id, used, most }) => [id, used, most])).toEqual([
    ["vcpu", 12, 32],
    ["memory", 0, 128],
    ["disk", 0, 1000],
    ["A40", 1, 8],
  ]);
});

test("sizes have their unit", () => {
  expect(textOfAmount({ unit: "GB" }, 12.34)).toBe("12.3 GB");
  expect(textOfAmount({ unit: "" }, 3)).toBe("3");
});
