/** Which answer a request gets: the routes of every surface in one tree, found by method and path. */
import findMyWay from "find-my-way";
import type { Answering, Params } from "./reply.ts";

/** Of one piece of a path; a longer one is no name of anything. */
export const MAX_PARAMETER_LENGTH = 512;

/** Routes are found by these. A request with any other method finds none. */
const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"] as const;

export type RoutedMethod = (typeof METHODS)[number] | "HEAD";

export interface Mounted {
  method: RoutedMethod;
  /** Path with `{id}`-style parameters; a last one with a star, as in `{path*}`, takes all that is left. */
  path: string;
  /** It is there to say that there is nothing, or not with this method. */
  refuses: boolean;
}

export interface RouterParts {
  /** Answers a request whose path cannot even be read, such as `/%zz`. */
  badPath: Answering;
}

export class Router {
  readonly mounted: Mounted[] = [];
  readonly #tree = findMyWay({
    ignoreDuplicateSlashes: true,
    ignoreTrailingSlash: true,
    maxParamLength: MAX_PARAMETER_LENGTH,
    onBadUrl: ignored,
    onMaxParamLength: ignored,
    // Surfaces read queries themselves.
    querystringParser: () => NO_QUERY,
  });
  readonly #badPath: Found;
  #unknown: Found;

  constructor({ badPath }: RouterParts) {
    this.#badPath = { answer: badPath, params: {} };
    this.#unknown = this.#badPath;
  }

  /** HEAD follows GET by itself. */
  add(methods: readonly RoutedMethod[], path: string, answer: Answering): void {
    this.#mount(withHead(methods), path, answer, false);
  }

  /** Without HEAD: where GET takes something, asking with it would give that to nobody. */
  addExactly(methods: readonly RoutedMethod[], path: string, answer: Answering): void {
    this.#mount(methods, path, answer, false);
  }

  /** For methods that a path does not have, or for all of them. */
  addRefusal(path: string, answer: Answering, methods: readonly RoutedMethod[] = METHODS): void {
    this.#mount(withHead(methods), path, answer, true);
  }

  /** Answers what fits no route. */
  set unknown(answer: Answering) {
    this.#unknown = { answer, params: {} };
  }

  find(method: string, url: string): Found {
    const found = this.#tree.find(method as RoutedMethod, url);
    if (!found) return this.#unknown;
    const answer = found.store as Answering | null;
    return answer ? { answer, params: found.params as Params } : this.#badPath;
  }

  #mount(methods: readonly RoutedMethod[], path: string, answer: Answering, refuses: boolean): void {
    this.#tree.on([...methods], path.replace(/\{\w+\*\}/g, "*").replace(/\{(\w+)\}/g, ":$1"), ignored, answer);
    for (const method of methods) this.mounted.push({ method, path, refuses });
  }
}

interface Found {
  answer: Answering;
  params: Params;
}

const withHead = (methods: readonly RoutedMethod[]): readonly RoutedMethod[] =>
  methods.includes("GET") ? [...methods, "HEAD"] : methods;

const NO_QUERY = {};
/** What is found is called by the server, and not by the tree. */
const ignored = () => {};
