/** Which answer a request gets: the routes of every surface in one tree, found by method and path. */
import findMyWay from "find-my-way";
import type { Answering, Params } from "./reply.ts";

/** Of one piece of a path; a longer one is no name of anything. */
export const MAX_PARAMETER_LENGTH = 512;

/** Routes are found by these. A request with any other method finds none. */
const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"] as const;

export type RoutedMethod = (typeof METHODS)[number] | "HEAD";
const ROUTED: ReadonlySet<string> = new Set<RoutedMethod>([...METHODS, "HEAD"]);

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
  /** Every path once, with its answers by method: a tree of each method took four fifths of the time that making a server takes. */
  readonly #paths = newTree();
  readonly #answers = new Map<string, Answers>();
  /** Of a method, the paths that have it, for requests whose nearest path does not. Made when first needed. */
  readonly #pathsWith = new Map<RoutedMethod, Tree>();
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
    const found = this.#paths.find(ANY, url);
    if (!found) return this.#unknown;
    const answers = found.store as Answers | null;
    if (!answers) return this.#badPath;
    const answer = answers[method as RoutedMethod];
    return answer ? { answer, params: found.params as Params } : this.#findWith(method as RoutedMethod, url);
  }

  /** The nearest path that has this method, which may be one that takes all that is left. */
  #findWith(method: RoutedMethod, url: string): Found {
    if (!ROUTED.has(method)) return this.#unknown;
    const found = this.#treeOf(method).find(ANY, url);
    return found ? { answer: found.store as Answering, params: found.params as Params } : this.#unknown;
  }

  #treeOf(method: RoutedMethod): Tree {
    const known = this.#pathsWith.get(method);
    if (known) return known;
    const tree = newTree();
    for (const [path, { [method]: answer }] of this.#answers) if (answer) tree.on(ANY, path, ignored, answer);
    this.#pathsWith.set(method, tree);
    return tree;
  }

  #mount(methods: readonly RoutedMethod[], path: string, answer: Answering, refuses: boolean): void {
    const pattern = path.replace(/\{\w+\*\}/g, "*").replace(/\{(\w+)\}/g, ":$1");
    const answers = this.#answersOf(pattern);
    for (const method of methods) {
      if (answers[method]) throw new Error(`${method} ${path} is mounted twice`);
      answers[method] = answer;
      this.mounted.push({ method, path, refuses });
    }
    this.#pathsWith.clear();
  }

  #answersOf(pattern: string): Answers {
    const known = this.#answers.get(pattern);
    if (known) return known;
    const answers: Answers = Object.create(null);
    this.#answers.set(pattern, answers);
    this.#paths.on(ANY, pattern, ignored, answers);
    return answers;
  }
}

interface Found {
  answer: Answering;
  params: Params;
}

type Answers = { [method in RoutedMethod]?: Answering };
type Tree = ReturnType<typeof newTree>;

/** The one method that trees know. */
const ANY = "GET";

const newTree = () =>
  findMyWay({
    ignoreDuplicateSlashes: true,
    ignoreTrailingSlash: true,
    maxParamLength: MAX_PARAMETER_LENGTH,
    onBadUrl: ignored,
    onMaxParamLength: ignored,
    // Surfaces read queries themselves.
    querystringParser: () => NO_QUERY,
  });

const withHead = (methods: readonly RoutedMethod[]): readonly RoutedMethod[] =>
  methods.includes("GET") ? [...methods, "HEAD"] : methods;

const NO_QUERY = {};
/** What is found is called by the server, and not by the tree. */
const ignored = () => {};
