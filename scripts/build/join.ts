/** Joins the bundler's files to one: an object with a function for each of them, which `load.cjs` calls when the file is first required. */

interface Part {
  fileName: string;
  code: string;
  /** The files that it requires before anything else. */
  imports: readonly string[];
}

export function joined(parts: readonly Part[]): string {
  refuseCircles(parts);
  const changing = new Set(parts.filter(({ code }) => code.includes(EVALUATED_LATE)).map(({ fileName }) => fileName));
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
