/** Plugins for the bundler: how built code finds files, Node's own modules, and packages that it loads late. */
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
      return JSON.stringify(`${basename(path, ".ts")}.cjs`);
    };
    return code.replace(PLACE, (...given) => {
      const { url, name, own } = given.at(-1) as Record<string, string | undefined>;
      if (url !== undefined) return urlOf(built(url));
      if (name !== undefined) return pathOf(built(name));
      const source = JSON.stringify(relative(folder, own === "url" ? id : dirname(id)));
      return own === "url" ? `${urlOf(source)}.href` : pathOf(source);
    });
  },
});

const NODES = "globalThis.process.getBuiltinModule";
const pathOf = (place: string) => `${NODES}("node:path").join(__dirname, ${place})`;
const urlOf = (place: string) => `${NODES}("node:url").pathToFileURL(${pathOf(place)})`;

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

const KUBERNETES = /\/node_modules\/@kubernetes\/client-node\/dist\//;
/** What the library's own requests need: an HTTP client, and a class for each kind of object. Together they are 60 times as long as the rest. */
const OF_REQUESTS: Record<string, string[]> = {
  undici: ["Agent", "ProxyAgent"],
  "./gen/index.js": ["createConfiguration", "ServerConfiguration"],
};

/** Of Kubernetes' library only `KubeConfig` is used. What it needs for requests of its own is left out, and says so when called. */
export const onlyKubeConfig: Plugin = {
  name: "only-kube-config",
  resolveId(id, importer) {
    return KUBERNETES.test(importer ?? "") && id in OF_REQUESTS ? `\0left-out:${id}` : undefined;
  },
  load(id) {
    const [, name] = id.split("\0left-out:");
    if (name === undefined) return undefined;
    const says = '{ throw new Error("left out of this build: requests to Kubernetes go through KubeApi"); }';
    return OF_REQUESTS[name]!.map((part) => `export function ${part}() ${says}`).join("\n");
  },
};

const COMMANDER = /\/node_modules\/commander\/lib\/command\.js$/;
const SUBPROCESSES = "import childProcess from 'node:child_process';\n";

/** Commander needs `node:child_process` for commands that are programs of their own. We have none, and loading it takes milliseconds. */
export const noSubprocesses: Plugin = {
  name: "no-subprocesses",
  transform(code, id) {
    if (!COMMANDER.test(id)) return;
    if (!code.includes(SUBPROCESSES)) throw new Error(`${id} imports node:child_process in another way than before`);
    return code.replace(SUBPROCESSES, "").replaceAll(/\bchildProcess\.(?=spawn\()/g, `${NODES}("node:child_process").`);
  },
};

const IMPORT =
  /^import (?!type )(?:(?<whole>[\w$]+)(?:, )?)?(?:\* as (?<all>[\w$]+)|\{(?<some>[^}]*)\})? from ["'](?<module>node:[\w/]+)["'];?$/gm;

/** Each file asks for Node's modules when it is evaluated itself. A bundler would load all of them at the start of a program. */
export const builtinsAsUsed: Plugin = {
  name: "builtins-as-used",
  transform: (code) =>
    code.replace(IMPORT, (...given) => {
      const { whole, all, some, module } = given.at(-1) as Record<string, string | undefined>;
      if (some !== undefined && module === FILES) return askedForLate(valuesIn(some));
      const names = [whole, all, some && `{ ${valuesIn(some)} }`].filter(Boolean);
      return names.map((name) => `const ${name} = ${NODES}("${module}");`).join(" ");
    }),
};

const FILES = "node:fs/promises";

/** Loading these takes 2 ms, so they are loaded at the first call. All of them are functions, but for `constants`. */
const askedForLate = (values: string) =>
  values
    .split(", ")
    .map((value) => value.split(": "))
    .map(([name, own = name]) =>
      name === "constants"
        ? `const ${own} = ${NODES}("${FILES}").${name};`
        : `function ${own}(...given) { return ${NODES}("${FILES}").${name}(...given); }`,
    )
    .join(" ");

/** The imported values as they are written in a declaration. Types exist only for the compiler. */
const valuesIn = (imported: string) =>
  imported
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "" && !name.startsWith("type "))
    .map((name) => name.replace(" as ", ": "))
    .join(", ");
