/** The addresses of HTTP ports of Pods: each port has a host of its own, or else a path on the server. */

export interface AddressParts {
  /** The host `<Pod id>-<port>.<domain>` leads to a port. */
  domain?: string | undefined;
  /** The prefix of URLs of this server. */
  publicUrl: () => string;
}

/** The parts of the hosts that all ports have in common. */
interface Hosts {
  publicUrl: string;
  protocol: string;
  domain: string | undefined;
  port: string;
}

/** Browsers resolve every name below this domain to their own machine. */
export const LOCAL_DOMAIN = "localhost";

const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/;

export class PodAddresses {
  readonly #parts: AddressParts;
  #hosts: Hosts | undefined;

  constructor(parts: AddressParts) {
    this.#parts = parts;
  }

  /** Whether browsers reach this server over TLS. A proxy in front of it provides that. */
  get isTls(): boolean {
    return this.#parts.publicUrl().startsWith("https:");
  }

  urlOf(pod: string, port: number): string {
    return this.hostUrlOf(pod, port) ?? `${this.#parts.publicUrl()}/pods/${pod}/ports/${port}/`;
  }

  /** Undefined if ports have no hosts of their own. */
  hostUrlOf(pod: string, port: number): string | undefined {
    const { protocol, domain, port: ours } = this.#hostsNow();
    return domain === undefined ? undefined : `${protocol}//${pod}-${port}.${domain}${ours && `:${ours}`}/`;
  }

  /** A list shows many ports, so the URL is parsed only when it changes. */
  #hostsNow(): Hosts {
    const publicUrl = this.#parts.publicUrl();
    if (this.#hosts?.publicUrl === publicUrl) return this.#hosts;
    const { protocol, hostname, port } = new URL(publicUrl);
    const domain = this.#parts.domain ?? (LOOPBACK.test(hostname) ? LOCAL_DOMAIN : undefined);
    this.#hosts = { publicUrl, protocol, domain, port };
    return this.#hosts;
  }
}
