/** Hashes passwords with Argon2id. The library works in threads, a few passwords at a time. */
import { createRequire } from "node:module";
import { problem } from "../../kernel/problem.ts";
import type { Passwords } from "../../ports/passwords/passwords.ts";

/** Each hash takes 19 MiB and about 30 ms of CPU time, so only a few run at once. */
const AT_ONCE = 2;
/** Further attempts are refused at once, because they would wait longer than people do. */
const MOST_WAITING = 100;

/** The minimum that OWASP recommends. Each hash contains its figures, so that they can be raised later. */
const FIGURES = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };

/** The hash of a random text that was thrown away, made with the same figures. */
const NOBODYS = "$argon2id$v=19$m=19456,t=2,p=1$HFsJe3uqINtz1vSac0K6Mg$61twbnWFCRyaqpX4t4QaY31DGdnf9nM5DWPr7r94eY4";

interface Argon2 {
  hash(password: string, figures: typeof FIGURES): Promise<string>;
  verify(hash: string, password: string): Promise<boolean>;
}

/** Loads the native code at the first password, so that a server without sign-ins does not hold it. */
const load = (): Argon2 => createRequire(import.meta.url)("@node-rs/argon2");

export class Argon2Passwords implements Passwords {
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  hash(password: string): Promise<string> {
    return this.#inTurn(() => load().hash(password, FIGURES));
  }

  async fits(password: string, hash: string | undefined): Promise<boolean> {
    const isIt = await this.#inTurn(() =>
      load()
        .verify(hash ?? NOBODYS, password)
        .catch(isNoHash),
    );
    return isIt && hash !== undefined;
  }

  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    await this.#turn();
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#running--;
    }
  }

  async #turn(): Promise<void> {
    if (this.#running < AT_ONCE) {
      this.#running++;
      return;
    }
    if (this.#waiting.length >= MOST_WAITING)
      throw problem("unavailable", "Too many people sign in at this moment; try again.", { retryAfterS: 5 });
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }
}

const isNoHash = () => false;
