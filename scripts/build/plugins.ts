/** Plugins for the bundler: how built code finds files, Node's own modules, and packages that it loads late. */
import { isBuiltin } from "node:module";
import { basename, dirname, join, relative } from "node:path";
import type { Plugin } from "rolldown";

interface Places {
  /** The folder of the built code, in which all files are side by side. */
  folder: string;
  /** Sources that become files of their own. */
  programs: readonly string[];
}

const PLACE =
  /new URL\("(?<url>[^"]+\.ts)", import\.meta\.url\)|join\(import\.meta\.dirname, "(?<name>[^"]+\.ts)"\)|import\.meta\.(?<own>url|dirname)\b/g;

/** Threads and small processes are built files too. Scripts, examples and the worker library stay in the repository. */
export const filesBeside = ({ folder, programs }: Places): Plugin => ({
  name: "files-beside",
  transform(code, id) {
    if (!id.endsWith(".ts") || !code.includes("import.meta.")) return;
    const built = (path: string) => {
      const source = join(dirname(id), path);
      if (!programs.includes(source)) throw new Error(`${id} starts ${source}, which the build does not name`);
      return JSON.stringify(`${basename(path, ".ts")}.mjs`);
    };
    return code.replace(PLACE, (...given) => {
      const { url, name, own } = given.at(-1) as Record<string, string | undefined>;
      if (url !== undefined) return `new URL(${built(url)}, import.meta.url)`;
      if (name !== undefined) return `join(import.meta.dirname, ${built(name)})`;
      const source = relative(folder, own === "url" ? id : dirname(id));
      if (own === "url") return `new URL(${JSON.stringify(source)}, import.meta.url).href`;
      return `process.getBuiltinModule("node:path").join(import.meta.dirname, ${JSON.stringify(source)})`;
    });
  },
});

/** These packages use it only for log transports, which run in their own threads. We have none. */
const HARMLESS = /\/node_modules\/(pino|thread-stream)\//;

/** A bundled package that asks for the place of its own files would fail when used, so it must not be bundled. */
export const noPlaceOfItsOwn: Plugin = {
  name: "no-place-of-its-own",
  transform(code, id) {
    if (!id.includes("/node_modules/") || HARMLESS.test(id) || !/\b__(dirname|filename)\b/.test(code)) return;
    throw new Error(`${id} asks where it is: name its package among those that are not bundled`);
  },
};

const LATE = "const require = createRequire(import.meta.url);";

/** A package that a file requires late is bundled, and still evaluated only when it is needed. */
export const requiredLate: Plugin = {
  name: "required-late",
  transform: (code, id) => (id.endsWith(".ts") && code.includes(LATE) ? code.replace(LATE, "") : undefined),
};

const IMPORT =
  /^import (?:(?<whole>[\w$]+)(?:, )?)?(?:\* as (?<all>[\w$]+)|\{ (?<some>[^}]*) \})? from "(?<module>node:[\w/]+)";$/gm;

/** Importing one of Node's modules reads all of its exports. For `node:http` that loads a whole HTTP client: 40 ms and 5 MB. */
export const builtinsAsUsed: Plugin = {
  name: "builtins-as-used",
  resolveId: (source, _importer, { kind }) =>
    kind !== "require-call" && isBuiltin(source)
      ? { id: `node:${source.replace("node:", "")}`, external: true }
      : undefined,
  renderChunk: (code) =>
    code.replace(IMPORT, (...given) => {
      const { whole, all, some, module } = given.at(-1) as Record<string, string | undefined>;
      const names = [whole, all, some && `{ ${some.replaceAll(" as ", ": ")} }`].filter(Boolean);
      return names.map((name) => `const ${name} = globalThis.process.getBuiltinModule("${module}");`).join(" ");
    }),
};
