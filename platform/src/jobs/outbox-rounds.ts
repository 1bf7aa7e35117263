/** Endpoints with webhooks to send, grouped by account. Accounts take turns, and so do the endpoints of an account. */

export interface Turn {
  account: string;
  endpoint: string;
  /** The target at which its last page ended. */
  after: string | undefined;
}

export class OutboxRounds {
  /** Accounts and endpoints at the front are next. */
  readonly #endpoints = new Map<string, Map<string, string | undefined>>();

  get accounts(): string[] {
    return [...this.#endpoints.keys()];
  }

  add(account: string, endpoint: string): void {
    const endpoints = this.#endpoints.get(account) ?? new Map<string, string | undefined>();
    if (!endpoints.has(endpoint)) endpoints.set(endpoint, undefined);
    this.#endpoints.set(account, endpoints);
  }

  /** Removes the next endpoint of an account and returns it. The account moves to the end. */
  take(account: string): Turn {
    const endpoints = this.#endpoints.get(account)!;
    const [endpoint, after] = endpoints.entries().next().value!;
    endpoints.delete(endpoint);
    this.#endpoints.delete(account);
    if (endpoints.size > 0) this.#endpoints.set(account, endpoints);
    return { account, endpoint, after };
  }

  /** Puts an endpoint back at the end, to continue after the given target. */
  putBack({ account, endpoint }: Turn, next: string | undefined): void {
    this.add(account, endpoint);
    this.#endpoints.get(account)!.set(endpoint, next);
  }
}
