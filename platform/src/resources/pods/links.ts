/** Links that let a browser in to an HTTP port of a Pod. */
import type { Caller } from "../../kernel/caller.ts";
import { problem } from "../../kernel/problem.ts";
import type { PodAddresses } from "./addresses.ts";
import type { KeptPod } from "./model.ts";
import type { PodService } from "./service.ts";
import type { PortVisits } from "./visits.ts";

/** On a Pod's host, paths below this one belong to the platform and not to the Pod's program. */
export const LINK_PATH = ".millrace/link/";

export interface PortLink {
  url: string;
  expiresAt: number;
}

export class PortLinks {
  readonly #pods: PodService;
  readonly #visits: PortVisits;
  readonly #addresses: PodAddresses;

  constructor(parts: { pods: PodService; portVisits: PortVisits; podAddresses: PodAddresses }) {
    this.#pods = parts.pods;
    this.#visits = parts.portVisits;
    this.#addresses = parts.podAddresses;
  }

  async create(caller: Caller, id: string, named: string): Promise<PortLink> {
    const { doc } = await this.#pods.own(caller, id);
    const port = Number(named);
    const url = this.#addresses.hostUrlOf(id, port);
    if (url === undefined)
      throw problem(
        "rule-broken",
        "Pages of Pods need a host of their own, and there is none: set MILLRACE_DOMAIN to a domain whose subdomains lead here.",
      );
    if (String(port) !== named || !hasHttpPort(doc, port))
      throw problem("not-found", `this Pod names no HTTP port ${named} in 'ports'`);
    const { token, expiresAt } = await this.#visits.invite(caller, { pod: id, port });
    return { url: `${url}${LINK_PATH}${token}`, expiresAt };
  }
}

export const hasHttpPort = ({ ports }: Pick<KeptPod, "ports">, port: number): boolean => ports.includes(`${port}/http`);
