/** What of a machine, or of all of them, is used: processors, memory, disk and each type of GPU. */
import type { InstallationMachine } from "@millrace/platform/resources/installation/model.ts";
import { countText } from "../../design/facts.tsx";

export interface Amount {
  id: string;
  label: string;
  used: number;
  most: number;
  unit: "" | "GB";
  /** A GPU that is made up, so that any request works where there are none. */
  isVirtual?: boolean;
}

type Room = Pick<InstallationMachine, "capacity" | "free">;

export function amountsOf({ capacity, free }: Room): Amount[] {
  const amount = (id: string, label: string, most: number, left: number, unit: Amount["unit"]): Amount => ({
    ...{ id, label, most, unit },
    // Rounded, since memory and disk come with digits that mean nothing here.
    used: Math.max(0, Math.round((most - left) * 10) / 10),
  });
  return [
    amount("vcpu", "vCPU", capacity.vcpuCount, free.vcpuCount, ""),
    amount("memory", "Memory", capacity.memory, free.memory, "GB"),
    amount("disk", "Disk", capacity.disk, free.disk, "GB"),
    ...capacity.gpus.map(({ id, count, virtual }) =>
      Object.assign(amount(id, id, count, free.gpus.find((one) => one.id === id)?.count ?? 0, ""), {
        isVirtual: virtual,
      }),
    ),
  ];
}

/** The sum over machines that take part: a silent one has no room that anybody can use. */
export function roomOf(machines: readonly InstallationMachine[]): Amount[] {
  const sums = new Map<string, Amount>();
  for (const machine of machines.filter(({ state }) => state !== "SILENT")) {
    for (const amount of amountsOf(machine)) {
      const sum = sums.get(amount.id);
      sums.set(amount.id, sum ? { ...sum, used: sum.used + amount.used, most: sum.most + amount.most } : amount);
    }
  }
  return [...sums.values()];
}

export function textOfAmount({ unit }: Pick<Amount, "unit">, value: number): string {
  const number = countText(Math.round(value * 10) / 10);
  return unit === "" ? number : `${number} ${unit}`;
}
