/** The ports of a Pod as they were asked for, and where each is reached now. */
import type { Pod } from "@millrace/platform/resources/pods/model.ts";

export interface ShownPort {
  number: number;
  type: "http" | "tcp";
  /** `host:port` of a TCP port, or the URL of an HTTP port, where it is known. */
  address: string | undefined;
  /** Why it has no address. */
  missing: string;
}

export function portsOf({ ports, runtime, status }: Pick<Pod, "ports" | "runtime" | "status">): ShownPort[] {
  return ports.map((text) => {
    const [number, type] = text.split("/") as [string, "http" | "tcp"];
    const open = runtime?.ports.find((port) => String(port.private) === number && port.type === type);
    const tcp = open?.ip && open.public !== null ? `${open.ip}:${open.public}` : undefined;
    return {
      number: Number(number),
      type,
      address: type === "http" ? open?.url : tcp,
      missing: status === "RUNNING" ? "It has no address outside yet" : "Known once it runs",
    };
  });
}
