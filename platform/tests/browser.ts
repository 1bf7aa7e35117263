/** A browser as far as sessions go: it keeps the cookie and the page token, and says where its requests come from. */
import { type Answer, type CallOptions, call } from "./world.ts";

export class TestBrowser {
  readonly url: string;
  readonly origin: string;
  /** By name. */
  readonly cookies = new Map<string, string>();
  pageToken: string | undefined;

  constructor(url: string, origin = url) {
    this.url = url;
    this.origin = origin;
  }

  async call(method: string, path: string, { headers, ...options }: CallOptions = {}): Promise<Answer> {
    const answer = await call(this.url, method, path, {
      key: null,
      ...options,
      headers: { ...this.headers(), ...headers },
    });
    for (const set of answer.headers.getSetCookie()) {
      const [pair = "", ...attributes] = set.split("; ");
      const name = pair.slice(0, pair.indexOf("="));
      if (attributes.includes("Max-Age=0")) this.cookies.delete(name);
      else this.cookies.set(name, pair);
    }
    if (answer.json?.pageToken) this.pageToken = answer.json.pageToken;
    return answer;
  }

  /** The cookies that it sends. */
  get cookie(): string | undefined {
    return this.cookies.size === 0 ? undefined : [...this.cookies.values()].join("; ");
  }

  headers(): Record<string, string> {
    return {
      origin: this.origin,
      ...(this.cookie !== undefined && { cookie: this.cookie }),
      ...(this.pageToken !== undefined && { "x-millrace-page": this.pageToken }),
    };
  }
}
