/** The routes that every job takes, found by a look into a table before Fastify's router is asked. */
import type { Answering, Params } from "./reply.ts";

interface Route {
  /** Names of the pieces behind the word, in their order. */
  names: string[];
  answer: Answering;
}

/** An endpoint's id, a word, and up to two pieces that mean what they say: nothing to decode, no slash too many. */
const PLAIN = /^\/v2\/([a-z0-9]{14})\/([a-z-]+)(?:\/([\w.~-]{1,200}))?(?:\/([\w.~-]{1,200}))?(?:\?|$)/;

/**
 * A short cut and not another door: each of these routes is Fastify's as well, with the same handler behind it, and paths that are
 * unusual in any way are left to that.
 */
export class DirectRoutes {
  readonly #routes = new Map<string, Route>();

  /** `path` begins behind the endpoint's id: `/run`, `/status/:job`. */
  add(methods: readonly string[], path: string, answer: Answering): void {
    const [word, ...pieces] = path.slice(1).split("/");
    if (pieces.includes("*")) return;
    const names = pieces.map((piece) => piece.slice(1));
    for (const method of methods) this.#routes.set(`${method} ${word}`, { names, answer });
  }

  find(method: string, url: string): { answer: Answering; params: Params } | undefined {
    const found = PLAIN.exec(url);
    if (!found) return undefined;
    const [, endpoint, word, first, second] = found;
    const route = this.#routes.get(`${method} ${word}`);
    if (!route) return undefined;
    const { names, answer } = route;
    const given = second !== undefined ? 2 : first !== undefined ? 1 : 0;
    if (given !== names.length) return undefined;
    const params: Params = { endpoint: endpoint! };
    if (given > 0) params[names[0]!] = first!;
    if (given > 1) params[names[1]!] = second!;
    return { answer, params };
  }
}
