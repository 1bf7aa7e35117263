/** Where the HTTP ports of Pods are reached: each on a host of its own, or, where there are no such hosts, below a path of the server. */

export interface AddressParts {
  /** `<Pod id>-<port>.<domain>` leads to a port. */
  domain?: string | undefined;
  /** What URLs of this server begin with. */
  publicUrl: () => string;
}

/** Browsers take every name below it for this machine, without asking anybody. */
export const LOCAL_DOMAIN = "localhost";

const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/;

export class PodAddresses {
  readonly #parts: AddressParts;

  constructor(parts: AddressParts) {
    this.#parts = parts;
  }

  /** Whether browsers reach this server over TLS, which others then speak in front of it. */
  get isTls(): boolean {
    return this.#parts.publicUrl().startsWith("https:");
  }

  urlOf(pod: string, port: number): string {
    return this.hostUrlOf(pod, port) ?? `${this.#parts.publicUrl()}/pods/${pod}/ports/${port}/`;
  }

  /** Undefined where ports have no hosts of their own. */
  hostUrlOf(pod: string, port: number): string | undefined {
    const url = new URL(this.#parts.publicUrl());
    const domain = this.#parts.domain ?? (LOOPBACK.test(url.hostname) ? LOCAL_DOMAIN : undefined);
    if (domain === undefined) return undefined;
    return `${url.protocol}//${pod}-${port}.${domain}${url.port && `:${url.port}`}/`;
  }
}
