/** Endpoints with something to tell, by accounts: each account has its turn, and of an account each endpoint. */

export interface Turn {
  account: string;
  endpoint: string;
  /** The target that its last page ended with. */
  after: string | undefined;
}

export class OutboxRounds {
  /** Those at the front are next. */
  readonly #endpoints = new Map<string, Map<string, string | undefined>>();

  get accounts(): string[] {
    return [...this.#endpoints.keys()];
  }

  add(account: string, endpoint: string): void {
    const endpoints = this.#endpoints.get(account) ?? new Map<string, string | undefined>();
    if (!endpoints.has(endpoint)) endpoints.set(endpoint, undefined);
    this.#endpoints.set(account, endpoints);
  }

  /** The next endpoint of an account, which leaves the round; the account goes to its end. */
  take(account: string): Turn {
    const endpoints = this.#endpoints.get(account)!;
    const [endpoint, after] = endpoints.entries().next().value!;
    endpoints.delete(endpoint);
    this.#endpoints.delete(account);
    if (endpoints.size > 0) this.#endpoints.set(account, endpoints);
    return { account, endpoint, after };
  }

  /** Comes back at the end, to go on there. */
  putBack({ account, endpoint }: Turn, next: string | undefined): void {
    this.add(account, endpoint);
    this.#endpoints.get(account)!.set(endpoint, next);
  }
}
