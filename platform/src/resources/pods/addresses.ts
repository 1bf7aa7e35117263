/** The addresses of HTTP ports of Pods: each port has a host of its own, or else a path on the server. */

export interface AddressParts {
  /** The host `<Pod id>-<port>.<domain>` leads to a port. */
  domain?: string | undefined;
  /** The prefix of URLs of this server. */
  publicUrl: () => string;
}

/** Browsers resolve every name below this domain to their own machine. */
export const LOCAL_DOMAIN = "localhost";

const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/;

export class PodAddresses {
  readonly #parts: AddressParts;

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
    const url = new URL(this.#parts.publicUrl());
    const domain = this.#parts.domain ?? (LOOPBACK.test(url.hostname) ? LOCAL_DOMAIN : undefined);
    if (domain === undefined) return undefined;
    return `${url.protocol}//${pod}-${port}.${domain}${url.port && `:${url.port}`}/`;
  }
}
