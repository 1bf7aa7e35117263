/** The rules of the repository as functions from its files to the places where they are broken. */
import { codeOf, isTest, isTool, type SourceFile } from "./source-tree.ts";

const PLATFORM = "platform/src/";

/** The part of the platform a path belongs to: a folder such as `kernel`, a file such as `main.ts`, or the inner part of a resource that runs its programs. */
function partOf(path: string): string | undefined {
  if (!path.startsWith(PLATFORM)) return undefined;
  const inside = path.slice(PLATFORM.length);
  return /^resources\/[^/]+\/running(?=\/)/.exec(inside)?.[0] ?? inside.split("/")[0];
}

const products = (files: SourceFile[]) => files.filter(({ path }) => !isTest(path) && !isTool(path));

const isFile = (to: string) => /\.tsx?$/.test(to);

/** Imports between the platform's parts that the table does not allow. */
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

/** One for each technology; those in memory are beside their ports. */
const ADAPTER = /^platform\/src\/(adapters\/|ports\/[^/]+\/(memory|fake)-)/;

/** Where adapters are chosen. */
const CHOOSING = ["main", "composition/storage", "composition/installation", "composition/this-machine"].map(
  (name) => `${PLATFORM}${name}.ts`,
);

/** Beyond those who choose, only tests and other adapters know adapters. */
export function knownAdapters(files: SourceFile[]): string[] {
  return products(files)
    .filter(({ path }) => !CHOOSING.includes(path) && !ADAPTER.test(path))
    .flatMap(({ path, imports }) =>
      imports.filter(({ to }) => ADAPTER.test(to)).map(({ to }) => `${path} must not know the adapter ${to}`),
    );
}

/** What adapters have in common: any of them may import it. */
const SHARED = "machine";
/** What the shared parts stand on. */
const BELOW_SHARED = "files";

/** An adapter could be taken out alone: it imports no other one, but what they share. */
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

/** Files that import themselves by way of others, each circle once. */
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
/** What crosses a port is written beside it. */
const JOB_LIFECYCLE = "platform/src/ports/queue/job.ts";

/** Models and operations are pure data: the kernel and the model beside them are all they may import. */
export function impureModels(files: SourceFile[]): string[] {
  const pure = files.filter(({ path }) => CONTRACTED.test(path));
  // Of instances every kind has its own record, and all of them have what is said there.
  // The words of the catalog are as pure as a model.
  const isModel = (path: string) =>
    /\/(resources\/[^/]+|jobs)\/(model|lifecycle)\.ts$|\/machines\/instances\.ts$|\/catalog\/words\.ts$/.test(path);
  return pure.flatMap(({ path, imports }) =>
    imports
      .filter(({ to }) => partOf(to) !== "kernel" && !isModel(to) && to !== JOB_LIFECYCLE)
      .map(({ to }) => `${path} must be pure, but imports ${to}`),
  );
}

/** The contract gathers models, operations and lifecycles, and nothing else of a resource. */
export function impureContract(files: SourceFile[]): string[] {
  const contract = files.filter(({ path }) => path === `${PLATFORM}contract.ts`);
  return contract.flatMap(({ path, imports }) =>
    imports
      .filter(({ to }) => partOf(to) !== "kernel" && !CONTRACTED.test(to) && to !== JOB_LIFECYCLE)
      .map(({ to }) => `${path} must not import ${to}`),
  );
}

/** Models and lifecycles that the contract forgot. */
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

/** What a browser does not have. */
const OF_NODE = /\b(?:Buffer|process|setImmediate|__dirname|require)\b(?=[.(])/g;

/** What the contract reaches at run time must also run in a browser. */
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

/** Libraries that are named in a few places, of the platform where nothing else is said, so that they could be replaced there. */
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

/** Real time and real chance outside the kernel, where no test could steer them. The worker library has a clock of its own. */
export function realTimeAndChance(files: SourceFile[]): string[] {
  return wordsFound(
    products(files).filter(({ path }) => partOf(path) !== "kernel" && path !== "worker/src/clock.ts"),
    REAL_WORLD,
  );
}

/** Settings are read from the environment in the first file of each package, or what that is parted into, and handed on from there. */
export function environmentReaders(files: SourceFile[]): string[] {
  return wordsFound(
    products(files).filter(
      ({ path }) => !/^(platform|cli|worker)\/src\/main\.ts$/.test(path) && !CHOOSING.includes(path),
    ),
    /\bprocess\.env\b/g,
  );
}

/** The platform speaks through its log; standard output belongs to the command line. */
export function consoleWriters(files: SourceFile[]): string[] {
  return wordsFound(
    products(files).filter(({ path }) => path.startsWith(PLATFORM)),
    /\bconsole\.\w+/g,
  );
}

/** The head of an answer is written in one place, which lets nothing out that is no HTTP. */
export function headWriters(files: SourceFile[]): string[] {
  const writers = products(files).filter(({ path }) => path.startsWith(PLATFORM) && !path.endsWith("/http/head.ts"));
  return wordsFound(writers, /\.(?:writeHead|setHeaders?|appendHeader|addTrailers|writeEarlyHints|statusMessage)\b/g);
}

function wordsFound(files: SourceFile[], words: RegExp): string[] {
  return files.flatMap(({ path, text }) =>
    [...new Set(codeOf(text).match(words) ?? [])].map((word) => `${path} uses ${word}`),
  );
}

/** Flat dialects of resources that no test holds to what holds for every dialect. */
export function dialectsUntested(files: SourceFile[]): string[] {
  const isDialect = /^(platform\/src\/resources\/[^/]+)\/flat\.ts$/;
  const tested = files.filter(({ path, text }) => isTest(path) && text.includes("flatConformance("));
  return files.flatMap(({ path }) => {
    const folder = isDialect.exec(path)?.[1];
    return folder === undefined || tested.some((test) => test.path.startsWith(`${folder}/`)) ? [] : [path];
  });
}

/**
 * Kinds of records that belong to an owner such as an endpoint: it is named, or `owner` is, by a field of theirs, by a key that they are
 * listed by, or by what they are called. What two files call by one name is taken together.
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

/** Files over the limit that no decision record speaks for, and records that speak for a file which needs none. */
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

/** A file opens with one paragraph, ended by a full stop, that says what it is for. */
export function withoutOpening(files: SourceFile[]): string[] {
  return files.filter(({ text }) => !/^\/\*\* [A-Z`"][^\n]*[.] \*\/\n/.test(text)).map(({ path }) => path);
}

const FORGED = /\bas (?:unknown as )?(?:Moved<|\w+\["(?:status|state)"\])/g;

/** States that a cast makes: only a lifecycle says that a table led to one, and the types refuse every other way. */
export function forgedStates(files: SourceFile[]): string[] {
  return wordsFound(
    products(files).filter(({ path }) => path !== `${PLATFORM}kernel/lifecycle.ts`),
    FORGED,
  );
}

/** Where reasons are made, kept and shown. */
const REASONING = /^platform\/src\/(jobs|workers|pods|machines|balancing|resources|surfaces)\//;
const SENTENCE = "(?:reason|waitReason|statusReason|sentence|detail|why)\\??(?:\\.(?:text|plain))?";
const COMPARED = new RegExp(
  `\\b${SENTENCE}\\??\\.(?:startsWith|endsWith|includes|indexOf|match|search|split)\\(|\\b${SENTENCE} [=!]== ["'\`]\\w+[ :]`,
);

/** Decisions by what a reason says: its code is there for that. */
export function comparedSentences(files: SourceFile[]): string[] {
  return products(files)
    .filter(({ path }) => REASONING.test(path))
    .flatMap((file) =>
      codeOf(file.text)
        .split("\n")
        .flatMap((line) => (COMPARED.test(line) ? [`${file.path} compares a sentence: ${line.trim()}`] : [])),
    );
}
