/** The rules of the repository as functions: each takes the files and returns the places that break it. */
import { codeOf, isTest, isTool, type SourceFile } from "./source-tree.ts";

const PLATFORM = "platform/src/";

/**
 * The part of the platform that a path belongs to: a folder such as `kernel`, a file such as `main.ts`, or the part of a resource that runs
 * its programs.
 */
function partOf(path: string): string | undefined {
  if (!path.startsWith(PLATFORM)) return undefined;
  const inside = path.slice(PLATFORM.length);
  return /^resources\/[^/]+\/running(?=\/)/.exec(inside)?.[0] ?? inside.split("/")[0];
}

const products = (files: SourceFile[]) => files.filter(({ path }) => !isTest(path) && !isTool(path));

const isFile = (to: string) => /\.tsx?$/.test(to);

/** Imports between parts that the table does not allow. */
export function wrongDirections(files: SourceFile[], mayImport: Record<string, readonly string[]>): string[] {
  return products(files).flatMap(({ path, imports }) => {
    const from = partOf(path);
    if (from === undefined) return [];
    const allowed = mayImport[from];
    if (!allowed) return [`${path}: '${from}' has no line in the table of imports`];
    return imports
      .filter(({ to }) => isFile(to) && partOf(to) !== from)
      .filter(({ to }) => !allowed.includes(partOf(to) ?? "outside"))
      .map(({ to }) => `${path} must not import ${to}`);
  });
}

/** Arrows of the table that no import needs. */
export function needlessArrows(files: SourceFile[], mayImport: Record<string, readonly string[]>): string[] {
  const needed = new Set(
    products(files).flatMap(({ path, imports }) => imports.map(({ to }) => `${partOf(path)} -> ${partOf(to)}`)),
  );
  const arrows = Object.entries(mayImport).flatMap(([from, parts]) => parts.map((to) => `${from} -> ${to}`));
  return arrows.filter((arrow) => !needed.has(arrow)).map((arrow) => `nobody needs ${arrow}`);
}

/** Adapters have a folder per technology. Those in memory are next to their ports. */
const ADAPTER = /^platform\/src\/(adapters\/|ports\/[^/]+\/(memory|fake)-)/;

/** The files that choose adapters. */
const CHOOSING = [
  "main",
  ...[
    "storage",
    "installation",
    "this-machine",
    "kubernetes-machine",
    "emulator",
    "emulator-state",
    "traces",
    "audit-lines",
    "sign-on",
    "hub-sources",
    "look-at-database",
    "look-at-groups",
    "model-folder",
  ].map((name) => `composition/${name}`),
  ...["backup", "restore", "check", "reading"].map((name) => `composition/backup/${name}`),
].map((name) => `${PLATFORM}${name}.ts`);

/** Only the files that choose adapters, other adapters and tests may import adapters. */
export function knownAdapters(files: SourceFile[]): string[] {
  return products(files)
    .filter(({ path }) => !CHOOSING.includes(path) && !ADAPTER.test(path))
    .flatMap(({ path, imports }) =>
      imports.filter(({ to }) => ADAPTER.test(to)).map(({ to }) => `${path} must not know the adapter ${to}`),
    );
}

/** Shared by the adapters: any of them may import it. */
const SHARED = "machine";
/** The shared part may import this. */
const BELOW_SHARED = "files";

/** Each adapter could be removed alone: it imports no other adapter except the shared part. */
export function mixedAdapters(files: SourceFile[]): string[] {
  const adapterOf = (path: string) => /^platform\/src\/adapters\/([^/]+)\//.exec(path)?.[1];
  return products(files).flatMap(({ path, imports }) => {
    const from = adapterOf(path);
    const shared = from === SHARED ? BELOW_SHARED : SHARED;
    const isOthers = (to: string | undefined) => to !== undefined && to !== from && to !== shared;
    return imports
      .filter(({ to }) => from !== undefined && isOthers(adapterOf(to)))
      .map(({ to }) => `${path} must not import ${to}`);
  });
}

/** Files that import themselves through others, each circle once. */
export function importCircles(files: SourceFile[]): string[] {
  const targets = new Map(products(files).map(({ path, imports }) => [path, imports.map(({ to }) => to)]));
  const circles: string[] = [];
  const done = new Set<string>();
  const walk = (path: string, trail: string[]): void => {
    if (trail.includes(path)) circles.push([...trail.slice(trail.indexOf(path)), path].join(" -> "));
    if (done.has(path) || trail.includes(path)) return;
    for (const next of targets.get(path) ?? []) walk(next, [...trail, path]);
    done.add(path);
  };
  for (const path of targets.keys()) walk(path, []);
  return circles;
}

const CONTRACTED =
  /^platform\/src\/(resources\/[^/]+\/(model|operations|lifecycle)|(jobs|balancing)\/([\w-]+-operations|model|operations))\.ts$/;
/** The lifecycle of jobs crosses a port, so it is written next to that port. */
const JOB_LIFECYCLE = "platform/src/ports/queue/job.ts";

/** Models and operations are pure data: they may import only the kernel and models. */
export function impureModels(files: SourceFile[]): string[] {
  const pure = files.filter(({ path }) => CONTRACTED.test(path));
  // Every kind of instance has its own record, and shares the fields of `machines/instances.ts`. The words of the catalog are as pure as a
  // model.
  const isModel = (path: string) =>
    /\/(resources\/[^/]+|jobs)\/(model|lifecycle)\.ts$|\/machines\/instances\.ts$|\/catalog\/words\.ts$/.test(path);
  return pure.flatMap(({ path, imports }) =>
    imports
      .filter(({ to }) => partOf(to) !== "kernel" && !isModel(to) && to !== JOB_LIFECYCLE)
      .map(({ to }) => `${path} must be pure, but imports ${to}`),
  );
}

/** The contract collects models, operations and lifecycles, and nothing else of a resource. */
export function impureContract(files: SourceFile[]): string[] {
  const contract = files.filter(({ path }) => path === `${PLATFORM}contract.ts`);
  return contract.flatMap(({ path, imports }) =>
    imports
      .filter(({ to }) => partOf(to) !== "kernel" && !CONTRACTED.test(to) && to !== JOB_LIFECYCLE)
      .map(({ to }) => `${path} must not import ${to}`),
  );
}

/** Models and lifecycles that are missing from the contract. */
export function ungathered(files: SourceFile[]): string[] {
  const contract = files.find(({ path }) => path === `${PLATFORM}contract.ts`)?.text ?? "";
  return products(files)
    .filter(({ path }) => path.startsWith(PLATFORM))
    .flatMap(({ path, text }) =>
      [...codeOf(text).matchAll(/\bexport const (\w+) = (?:lifecycle<|resource\()/g)].map(([, name]) => ({
        path,
        name: name!,
      })),
    )
    .filter(({ name }) => !new RegExp(`: ${name},`).test(contract))
    .map(({ path, name }) => `contract.ts lacks ${name} of ${path}`);
}

/** Names that a browser does not have. */
const OF_NODE = /\b(?:Buffer|process|setImmediate|__dirname|require)\b(?=[.(])/g;

/** Everything that the contract reaches at run time must also run in a browser. */
export function reachesNode(files: SourceFile[], start: string): string[] {
  const known = new Map(files.map((file) => [file.path, file]));
  const reached = new Set([start]);
  for (const path of reached) {
    for (const { to, typeOnly } of known.get(path)?.imports ?? []) if (!typeOnly) reached.add(to);
  }
  const modules = [...reached].filter((path) => path.startsWith("node:")).map((module) => `${start} reaches ${module}`);
  return [
    ...modules,
    ...wordsFound(
      [...reached].flatMap((path) => known.get(path) ?? []),
      OF_NODE,
    ),
  ];
}

/** Libraries imported outside of their allowed places. The places are in the platform unless they say otherwise. */
export function strayLibraries(files: SourceFile[], places: Record<string, readonly string[]>): string[] {
  return products(files).flatMap(({ path, imports }) =>
    imports
      .filter(({ to }) => {
        const allowed = Object.entries(places).find(([name]) => to === name || to.startsWith(`${name}/`))?.[1];
        return allowed && !allowed.some((place) => path.startsWith(`${PLATFORM}${place}`) || path.startsWith(place));
      })
      .map(({ to }) => `${path} must not import ${to}`),
  );
}

const REAL_WORLD =
  /\b(?:setTimeout|setInterval|setImmediate|Date\.now|Date\.parse|new Date|performance\.now|process\.hrtime|Math\.random|randomUUID|randomBytes|randomInt|randomFill|randomFillSync|getRandomValues|node:timers)\b/g;

/** The console shows real time to people; nothing is decided by it. */
const isOfBrowser = (path: string) => path.startsWith("console/src/");

/** Real time and real randomness outside the kernel, where tests could not control them. The worker library has a clock of its own. */
export function realTimeAndChance(files: SourceFile[]): string[] {
  return wordsFound(
    products(files).filter(
      ({ path }) => partOf(path) !== "kernel" && path !== "worker/src/clock.ts" && !isOfBrowser(path),
    ),
    REAL_WORLD,
  );
}

/** Only the main file of each package, and the files that it is split into, may read settings from the environment. */
export function environmentReaders(files: SourceFile[]): string[] {
  return wordsFound(
    products(files).filter(
      ({ path }) => !/^(platform|cli|worker)\/src\/main\.ts$/.test(path) && !CHOOSING.includes(path),
    ),
    /\bprocess\.env\b/g,
  );
}

/** The platform writes only to its log. Standard output belongs to the command line. */
export function consoleWriters(files: SourceFile[]): string[] {
  return wordsFound(
    products(files).filter(({ path }) => path.startsWith(PLATFORM)),
    /\bconsole\.\w+/g,
  );
}

/** Only one file may write the head of an answer, and it lets nothing out that is not HTTP. */
export function headWriters(files: SourceFile[]): string[] {
  const writers = products(files).filter(({ path }) => path.startsWith(PLATFORM) && !path.endsWith("/http/head.ts"));
  return wordsFound(writers, /\.(?:writeHead|setHeaders?|appendHeader|addTrailers|writeEarlyHints|statusMessage)\b/g);
}

function wordsFound(files: SourceFile[], words: RegExp): string[] {
  return files.flatMap(({ path, text }) =>
    [...new Set(codeOf(text).match(words) ?? [])].map((word) => `${path} uses ${word}`),
  );
}

/** Flat dialects that no test checks with the suite for all dialects. */
export function dialectsUntested(files: SourceFile[]): string[] {
  const isDialect = /^(platform\/src\/resources\/[^/]+)\/flat\.ts$/;
  const tested = files.filter(({ path, text }) => isTest(path) && text.includes("flatConformance("));
  return files.flatMap(({ path }) => {
    const folder = isDialect.exec(path)?.[1];
    return folder === undefined || tested.some((test) => test.path.startsWith(`${folder}/`)) ? [] : [path];
  });
}

/**
 * Kinds of records that belong to an owner such as an endpoint. A field, a key that they are listed by, or their name contains the owner's
 * name or `owner`. Two types of the same name in different files count as one.
 */
export function ownedKinds(files: SourceFile[], owner: string): string[] {
  const texts = products(files).map(({ text }) => codeOf(text));
  const typeOf = (name: string) =>
    texts.flatMap((text) => text.match(new RegExp(`\\btype ${name} = [^}]*\\}`, "g")) ?? []).join();
  const named = new RegExp(`\\b(${owner}|owner)\\??: string|\\((\\{[^}]*)?\\b(${owner}|owner)\\b[^)]*\\) =>`);
  const kept = texts.flatMap((text) => [...text.matchAll(/: Kept<(\w+)> = (\{[^;]*\});/g)]);
  return kept.flatMap(([, type, how]) => {
    const kind = /kind: "([^"]+)"/.exec(how!)![1]!;
    return kind.startsWith(`${owner}-`) || named.test(how!) || named.test(typeOf(type!)) ? [kind] : [];
  });
}

export const LONGEST_FILE = 400;

/** Files over the limit without a decision record, and records for files that need none. */
export function tooLong(files: SourceFile[], allowed: Record<string, string>, records: readonly string[]): string[] {
  const long = files
    .map(({ path, text }) => ({ path, lines: text.trimEnd().split("\n").length }))
    .filter(({ lines }) => lines > LONGEST_FILE);
  const unspoken = long
    .filter(({ path }) => !records.includes(allowed[path] ?? ""))
    .map(({ path, lines }) => `${path} has ${lines} lines`);
  const needless = Object.keys(allowed).filter((path) => !long.some((file) => file.path === path));
  return [...unspoken, ...needless.map((path) => `${path} needs no exception`)];
}

/** A file opens with one line, ended by a full stop, that says what it is for. */
export function withoutOpening(files: SourceFile[]): string[] {
  return files.filter(({ text }) => !/^\/\*\* [A-Z`"][^\n]*[.] \*\/\n/.test(text)).map(({ path }) => path);
}

const FORGED = /\bas (?:unknown as )?(?:Moved<|\w+\["(?:status|state)"\])/g;

/** Casts to a state. Only a lifecycle may produce states, and the types refuse every other way. */
export function forgedStates(files: SourceFile[]): string[] {
  return wordsFound(
    products(files).filter(({ path }) => path !== `${PLATFORM}kernel/lifecycle.ts`),
    FORGED,
  );
}

/** The parts that make, keep and show reasons. */
const REASONING = /^platform\/src\/(jobs|workers|pods|machines|balancing|resources|surfaces)\//;
const SENTENCE = "(?:reason|waitReason|statusReason|sentence|detail|why)\\??(?:\\.(?:text|plain))?";
const COMPARED = new RegExp(
  `\\b${SENTENCE}\\??\\.(?:startsWith|endsWith|includes|indexOf|match|search|split)\\(|\\b${SENTENCE} [=!]== ["'\`]\\w+[ :]`,
);

/** Decisions by the sentence of a reason. Its code should be compared instead. */
export function comparedSentences(files: SourceFile[]): string[] {
  return products(files)
    .filter(({ path }) => REASONING.test(path))
    .flatMap((file) =>
      codeOf(file.text)
        .split("\n")
        .flatMap((line) => (COMPARED.test(line) ? [`${file.path} compares a sentence: ${line.trim()}`] : [])),
    );
}
