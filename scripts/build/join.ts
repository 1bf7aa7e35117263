/** Joins the bundler's files to one: an object with a function for each of them, which `load.cjs` calls when the file is first required. */

interface Part {
  fileName: string;
  code: string;
  isEntry: boolean;
  /** The files that it requires before anything else. */
  imports: readonly string[];
  dynamicImports: readonly string[];
}

/** Longer files are for few commands. */
const LONG = 100_000;

/**
 * The files in two groups. The first has what the entry imports, and what is imported late from there: each command and what most of them
 * use. All others, such as the server, are read when one of them is needed.
 */
export function inGroups<P extends Part>(parts: readonly P[]): { first: P[]; late: P[] } {
  const byName = new Map(parts.map((part) => [part.fileName, part]));
  const first = new Set<P>();
  const reach = (names: readonly string[], mayBeLong: boolean) => {
    for (const part of names.flatMap((name) => byName.get(name) ?? [])) {
      if (first.has(part) || (part.code.length > LONG && !mayBeLong)) continue;
      first.add(part);
      reach(part.imports, mayBeLong);
    }
  };
  const entries = parts.filter(({ isEntry }) => isEntry);
  reach(
    entries.map(({ fileName }) => fileName),
    true,
  );
  reach(
    [...first].flatMap(({ dynamicImports }) => dynamicImports),
    false,
  );
  return { first: [...first], late: parts.filter((part) => !first.has(part)) };
}

/** One text of these files. `all` are the files of the whole program. */
export function joined(parts: readonly Part[], all: readonly Part[]): string {
  refuseCircles(all);
  const changing = new Set(all.filter(({ code }) => code.includes(EVALUATED_LATE)).map(({ fileName }) => fileName));
  const functions = parts.map(
    ({ fileName, code }) =>
      `${JSON.stringify(`./${fileName}`)}(exports, require, __dirname) {"use strict";\n${withConstants(code, changing)}\n}`,
  );
  return `({\n${functions.join(",\n")}\n})`;
}

/** A package that mixes both kinds of modules has exports that get their values after the file was evaluated. */
const EVALUATED_LATE = "__esmMin(";

const REQUIRED = /^const (?<name>require_[\w$]+) = require\("\.\/(?<file>[^"]+)"\);$/gm;

/**
 * The bundler reads an export of another file from an object each time, through a getter. Here it becomes a constant, which the engine
 * knows: requests took up to a tenth longer without this.
 */
function withConstants(code: string, changing: ReadonlySet<string>): string {
  const required = [...code.matchAll(REQUIRED)].map(({ groups }) => groups as { name: string; file: string });
  const fixed = new Map(
    required.filter(({ file }) => !changing.has(file)).map(({ name }) => [name, new Set<string>()]),
  );
  const read = code.replaceAll(/(?<![\w$.])(require_[\w$]+)\.([\w$]+)/g, (whole, name: string, value: string) => {
    const values = fixed.get(name);
    values?.add(value);
    return values ? `${name}$${value}` : whole;
  });
  return read.replaceAll(REQUIRED, (line, name: string) => {
    const values = [...(fixed.get(name) ?? [])].map((value) => `${value}: ${name}$${value}`);
    return values.length === 0 ? line : `${line} const { ${values.join(", ")} } = ${name};`;
  });
}

/** Where two files require each other, one of them would see constants without values. */
function refuseCircles(parts: readonly Part[]): void {
  const imports = new Map(parts.map((part) => [part.fileName, part.imports]));
  const done = new Set<string>();
  const visit = (name: string, way: readonly string[]) => {
    if (way.includes(name)) throw new Error(`built files require each other: ${[...way, name].join(", ")}`);
    if (done.has(name)) return;
    for (const next of imports.get(name) ?? []) visit(next, [...way, name]);
    done.add(name);
  };
  for (const { fileName } of parts) visit(fileName, []);
}
