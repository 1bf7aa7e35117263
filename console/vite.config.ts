/** How the console is built: hashed files, split by page, for browsers of the last two years. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import react from "@vitejs/plugin-react";
import type { CodeSplittingGroup } from "rolldown";
import { defineConfig, type Plugin } from "vite";
import { requestPath } from "../platform/src/kernel/request-path.ts";
import { calls } from "./src/api/calls.data.ts";
import { FIRST_READS, type FirstRead } from "./src/api/first-reads.ts";

const MAIN = join(import.meta.dirname, "src/main.tsx");
/** A file that so many pages use comes with the others of its kind. */
const MANY_PAGES = 6;
const OF_PAGES = /console\/src\/pages\/([^/]+)\//;

/** Small parts of most pages, and the tables of states. The overview needs none of the controls. */
const SMALL =
  /console\/src\/(api\/(curl|healths|turns)|parts\/time-range|design\/(reason|code|segments))|@tanstack\/.*useQueries|icons\/circle-check\.|platform\/src\/(.*lifecycle|ports\/queue\/job|kernel\/problem)\.ts/;

/** Few files: each costs a browser about a millisecond, and without these groups a list has forty. Pages and large parts stay apart. */
const GROUPS: CodeSplittingGroup[] = [
  {
    name: (id, graph) => (ofStart(graph).has(id) || SMALL.test(id) ? "start" : null),
    debugName: "start",
    priority: 2,
  },
  {
    name: "controls",
    test: /\/(@base-ui|@floating-ui|@tanstack|lucide-react|console\/src\/(api|design|parts|forms))\//,
    minShareCount: MANY_PAGES,
    priority: 1,
  },
  // What pages of one folder share, such as the frame of all pages of an endpoint, with the tables of the contract that they use.
  { name: (id) => OF_PAGES.exec(id)?.[1] ?? null, debugName: "pages", minShareCount: 4 },
];

type Graph = Parameters<Extract<CodeSplittingGroup["name"], (...args: never[]) => unknown>>[1];
const starts = new WeakMap<Graph, Set<string>>();

/** All that is loaded before any page. */
function ofStart(graph: Graph): Set<string> {
  const known = starts.get(graph);
  if (known) return known;
  const found = new Set<string>();
  const follow = (id: string) => {
    if (found.has(id)) return;
    found.add(id);
    for (const next of graph.getModuleInfo(id)?.importedIds ?? []) follow(next);
  };
  follow(MAIN);
  starts.set(graph, found);
  return found;
}

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react(), evaluated(), lateFormats(), compiledEarly(), preloaded()],
  build: {
    target: ["chrome125", "firefox128", "safari17.5"],
    outDir: "dist",
    emptyOutDir: true,
    // The security policy of the page allows no scripts or fonts in `data:` addresses.
    assetsInlineLimit: 0,
    // One small file for all pages: each further one costs a first visit more than its rules.
    cssCodeSplit: false,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    rolldownOptions: { output: { codeSplitting: { includeDependenciesRecursively: false, groups: GROUPS } } },
  },
  server: { proxy: { "^/(v1|v2|graphql)": { target: "http://127.0.0.1:7420", ws: true } } },
});

/** A `.data.ts` file is run once, here. Browsers get what it exports as plain values, and nothing that it imports. */
function evaluated(): Plugin {
  return {
    name: "evaluated",
    enforce: "pre",
    async load(id) {
      if (!id.endsWith(".data.ts")) return null;
      const values: Record<string, unknown> = await import(pathToFileURL(id).href);
      // A browser parses a text as JSON faster than the same as a script.
      return Object.entries(values)
        .map(([name, value]) => `export const ${name} = JSON.parse(${JSON.stringify(JSON.stringify(value))});`)
        .join("\n");
    },
  };
}

/** What uPlot makes while it is loaded, and we never use. The first such object takes a browser as long as to draw a page. */
const FORMATS = [
  "new Intl.NumberFormat(domEnv ? nav.language : 'en-US')",
  "new Intl.DateTimeFormat().resolvedOptions()",
];

/** Leaves those formats out: charts bring their own. */
function lateFormats(): Plugin {
  return {
    name: "late-formats",
    transform(code, id) {
      if (!id.endsWith("/uPlot.esm.js")) return null;
      if (FORMATS.some((format) => !code.includes(format))) throw new Error("uPlot is another one: see lateFormats");
      return { code: FORMATS.reduce((text, format) => text.replace(format, "{}"), code), map: null };
    },
  };
}

/** Most of their functions run at once. */
const EARLY = ["start", "controls", "chart"];

/** Asks the browser to compile all functions of what every page needs while it loads, beside the main thread, rather than each when it is called. */
function compiledEarly(): Plugin {
  return {
    name: "compiled-early",
    generateBundle: {
      order: "post",
      handler(_, files) {
        for (const file of Object.values(files))
          if (file.type === "chunk" && EARLY.includes(file.name))
            file.code = `//# allFunctionsCalledOnLoad\n${file.code}`;
      },
    },
  };
}

/** The addresses of what a page reads first: at once, and once its endpoint is known to have a queue. */
function readsOf(page: string): [reads: string[], ofQueue: string[]] {
  const addresses = (reads: readonly FirstRead[]) =>
    reads.map(({ name, params, query, firstPage }) => {
      const asked = { ...query, ...(firstPage !== "" && firstPage) };
      return requestPath(calls[name]!.path, { params, query: asked }).replace("%24id", "$id");
    });
  const { now = [], queue = [] } = Object.groupBy(FIRST_READS[page] ?? [], ({ isOfQueue }) =>
    isOfQueue ? "queue" : "now",
  );
  return [addresses(now), addresses(queue)];
}

const ROUTES = join(import.meta.dirname, "src/routes.ts");
const ROUTE = /\b(?:page|outside)\("([^"]+)", \(\) => import\("\.\/([^"]+)"\)/g;

/** Tells `start.js` the files of each page, so that a browser loads them beside the console and not after it has run. */
function preloaded(): Plugin {
  return {
    name: "preloaded",
    apply: "build",
    async writeBundle({ dir }, files) {
      const chunks = Object.values(files).filter((file) => file.type === "chunk");
      const chunkOf = (name: string) => chunks.find(({ fileName }) => fileName === name);
      const withAll = (names: readonly string[], found = new Set<string>()): Set<string> => {
        for (const name of names) {
          if (found.has(name)) continue;
          found.add(name);
          const chunk = chunkOf(name);
          for (const css of chunk?.viteMetadata?.importedCss ?? []) found.add(css);
          withAll(chunk?.imports ?? [], found);
        }
        return found;
      };
      // The page itself names what every page needs.
      const index = await readFile(join(dir!, "index.html"), "utf8");
      const later: string[] = [];
      const numberOf = (file: string) => (later.includes(file) ? later.indexOf(file) : later.push(file) - 1);
      const pages = [...(await readFile(ROUTES, "utf8")).matchAll(ROUTE)].map(([, path, source]) => {
        const id = join(import.meta.dirname, "src", source!);
        const own = chunks.find(({ moduleIds }) => moduleIds.includes(id));
        if (!own) throw new Error(`${source} has no file of its own: see preloaded`);
        const files = [...withAll([own.fileName])].filter((file) => !index.includes(file)).map(numberOf);
        return [path, files, ...readsOf(path!)];
      });
      const start = join(dir!, "start.js");
      const text = await readFile(start, "utf8");
      const told = Object.entries({ PAGES: pages, FILES: later }).reduce((so, [name, list]) => {
        const place = `const ${name} = [];`;
        if (list.length === 0 || !so.includes(place))
          throw new Error(`start.js has no place for ${name}: see preloaded`);
        return so.replace(place, () => `const ${name} = ${JSON.stringify(list)};`);
      }, text);
      await writeFile(start, told);
    },
  };
}
