/** Finds the answer to a request by method and path: the routes of every surface are in one tree. */
import findMyWay from "find-my-way";
import type { Answering, Params } from "./reply.ts";

/** The longest path parameter. No name is longer. */
export const MAX_PARAMETER_LENGTH = 512;

/** The methods that routes can have. A request with any other method finds no route. */
const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"] as const;

export type RoutedMethod = (typeof METHODS)[number] | "HEAD";
const ROUTED: ReadonlySet<string> = new Set<RoutedMethod>([...METHODS, "HEAD"]);

export interface Mounted {
  method: RoutedMethod;
  /** Path with `{id}`-style parameters. A last one with a star, as in `{path*}`, takes the rest of the path. */
  path: string;
  /** The route only refuses: its path does not exist, or not with this method. */
  refuses: boolean;
}

export interface RouterParts {
  /** Answers a request whose path cannot even be read, such as `/%zz`. */
  badPath: Answering;
}

export class Router {
  readonly mounted: Mounted[] = [];
  /** The answers of every path, by method. */
  readonly #answers = new Map<string, Answers>();
  /** Every path without the names of its parameters. */
  readonly #shapes = new Set<string>();
  /** Holds every path once, and is found when first needed. One tree per method took four fifths of the time in which a server is made. */
  #paths: Tree | undefined;
  /** For each method, the paths that have it. It serves requests whose nearest path lacks the method. */
  readonly #pathsWith = new Map<RoutedMethod, Tree>();
  readonly #badPath: Found;
  #unknown: Found;

  constructor({ badPath }: RouterParts) {
    this.#badPath = { answer: badPath, params: {}, path: NO_ROUTE };
    this.#unknown = this.#badPath;
  }

  /** HEAD follows GET by itself. */
  add(methods: readonly RoutedMethod[], path: string, answer: Answering): void {
    this.#mount(withHead(methods), path, answer, false);
  }

  /** Adds a route without HEAD. Where GET takes something, such as a job, HEAD would take it and show it to no one. */
  addExactly(methods: readonly RoutedMethod[], path: string, answer: Answering): void {
    this.#mount(methods, path, answer, false);
  }

  /** Adds refusals for methods that a path does not have, or for all of them. */
  addRefusal(path: string, answer: Answering, methods: readonly RoutedMethod[] = METHODS): void {
    this.#mount(withHead(methods), path, answer, true);
  }

  /** Answers requests that fit no route. */
  set unknown(answer: Answering) {
    this.#unknown = { answer, params: {}, path: NO_ROUTE };
  }

  find(method: string, url: string): Found {
    this.#paths ??= treeOf([...this.#answers.keys()]);
    const found = this.#paths.find(ANY, url);
    if (!found) return this.#unknown;
    const answers = this.#answers.get(found.store as string);
    if (!answers) return this.#badPath;
    const answer = answers[method as RoutedMethod];
    if (!answer) return this.#findWith(method as RoutedMethod, url);
    return { answer, params: found.params as Params, path: answers.path };
  }

  /** Finds the nearest path that has this method. That may be a path that takes the rest. */
  #findWith(method: RoutedMethod, url: string): Found {
    if (!ROUTED.has(method)) return this.#unknown;
    const found = this.#treeWith(method).find(ANY, url);
    if (!found) return this.#unknown;
    const answers = this.#answers.get(found.store as string);
    const answer = answers?.[method];
    return answer ? { answer, params: found.params as Params, path: answers!.path } : this.#badPath;
  }

  #treeWith(method: RoutedMethod): Tree {
    const known = this.#pathsWith.get(method);
    if (known) return known;
    const tree = treeOf([...this.#answers].filter(([, answers]) => answers[method]).map(([path]) => path));
    this.#pathsWith.set(method, tree);
    return tree;
  }

  #mount(methods: readonly RoutedMethod[], path: string, answer: Answering, refuses: boolean): void {
    const pattern = path.replace(/\{\w+\*\}/g, "*").replace(/\{(\w+)\}/g, ":$1");
    const answers = this.#answersOf(pattern, path);
    for (const method of methods) {
      if (answers[method]) throw new Error(`${method} ${path} is mounted twice`);
      answers[method] = answer;
      this.mounted.push({ method, path, refuses });
    }
    this.#paths = undefined;
    this.#pathsWith.clear();
  }

  #answersOf(pattern: string, path: string): Answers {
    const known = this.#answers.get(pattern);
    if (known) return known;
    const shape = pattern.replace(/:\w+/g, ":");
    if (this.#shapes.has(shape)) throw new Error(`${pattern} is already declared with other names`);
    this.#shapes.add(shape);
    const answers: Answers = Object.assign(Object.create(null), { path });
    this.#answers.set(pattern, answers);
    return answers;
  }
}

export interface Found {
  answer: Answering;
  params: Params;
  /** The path as it was mounted, such as `/v2/pods/{id}`. What is counted is counted by it. */
  path: string;
}

/** The path of what is found where no route is. */
const NO_ROUTE = "unknown";

type Answers = { [method in RoutedMethod]?: Answering } & { path: string };
type Tree = ReturnType<typeof newTree>;

/** Servers in one process have the same paths, so they share a tree of them: making it took half of the time in which a server is made. */
const trees = new Map<string, Tree>();
const MOST_TREES = 32;

/** Finds the nearest of these paths. What is found holds the path, not its answers. */
function treeOf(paths: readonly string[]): Tree {
  const key = paths.join("\n");
  const known = trees.get(key);
  if (known) return known;
  const tree = newTree();
  for (const path of paths) tree.on(ANY, path, ignored, path);
  if (trees.size >= MOST_TREES) trees.clear();
  trees.set(key, tree);
  return tree;
}

/** The only method in the trees: the real one is looked up in what a path holds. */
const ANY = "GET";

const newTree = () =>
  findMyWay({
    ignoreDuplicateSlashes: true,
    ignoreTrailingSlash: true,
    maxParamLength: MAX_PARAMETER_LENGTH,
    onBadUrl: ignored,
    onMaxParamLength: ignored,
    // Surfaces parse queries themselves.
    querystringParser: () => NO_QUERY,
  });

const withHead = (methods: readonly RoutedMethod[]): readonly RoutedMethod[] =>
  methods.includes("GET") ? [...methods, "HEAD"] : methods;

const NO_QUERY = {};
/** The server calls the handler that was found; the tree never does. */
const ignored = () => {};
