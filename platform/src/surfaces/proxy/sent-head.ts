/** What a worker gets of a request beside its body. */
import type { RawHeaders } from "./headers.ts";

/** Characters that would end or split the request line. */
const NOT_IN_TARGET = /[^\x21-\x7e\x80-\xff]/;

export class SentHead {
  readonly method: string;
  readonly target: string;
  readonly headers: RawHeaders;
  #text: string | undefined;

  constructor(method: string, target: string, headers: RawHeaders) {
    this.method = method;
    this.target = target;
    this.headers = headers;
  }

  get isValid(): boolean {
    return this.#text !== undefined || !NOT_IN_TARGET.test(this.target);
  }

  /** Lines for all but the length of the body, which we say ourselves, since we send it. They are made once for a head that is repeated. */
  get text(): string {
    this.#text ??= this.#written();
    return this.#text;
  }

  #written(): string {
    const { method, target, headers } = this;
    let text = `${method} ${target} HTTP/1.1\r\n`;
    let hasHost = false;
    for (let i = 0; i < headers.length; i += 2) {
      const name = headers[i]!;
      if (name.length === 14 && name.toLowerCase() === "content-length") continue;
      if (name.length === 4 && name.toLowerCase() === "host") hasHost = true;
      text += `${name}: ${headers[i + 1]}\r\n`;
    }
    return `${text}${hasHost ? "" : "Host: worker\r\n"}Connection: keep-alive\r\n`;
  }
}
