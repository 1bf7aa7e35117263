/** The rule that nothing is exported for nobody: what no other file imports is a file's own, and what is not even used there is gone. */
import { codeOf, isTest, isTool, resolved, type SourceFile } from "./source-tree.ts";

/** `import { a, type B as C } from "x"`, and the same with `export`. */
const NAMED = /(?:^|\n)\s*(?:import|export)\s+(?:type\s+)?(?:\w+\s*,\s*)?\{([^}]*)\}\s*from\s*["']([^"']+)["']/g;
/** `import * as x from "x"`, `export * from "x"` and `import("x")`: any of its names may be meant. */
const WHOLE =
  /(?:^|\n)\s*(?:import|export)\s+(?:type\s+)?\*(?:\s+as\s+\w+)?\s+from\s*["']([^"']+)["']|\bimport\(\s*["'`]([^"'`]+)["'`]\s*\)/g;
const EXPORTED =
  /^export\s+(?:abstract\s+|async\s+)?(const|let|function\*?|class|type|interface)\s+([A-Za-z_$][\w$]*)/gm;

const ANY = "*";

/** Exported values that no other file imports, and exported types that nobody uses. A type that its own file uses may be asked for by callers. */
export function unusedExports(files: SourceFile[]): string[] {
  const imported = namesImported(files);
  return files
    .filter(({ path }) => !isTest(path) && !isTool(path))
    .flatMap(({ path, text }) => {
      const names = imported.get(path) ?? new Set();
      if (names.has(ANY)) return [];
      const code = codeOf(text);
      return [...code.matchAll(EXPORTED)]
        .filter(([, , name]) => !names.has(name!))
        .filter(([, sort, name]) => !isType(sort!) || !isUsedIn(code, name!))
        .map(([, , name]) => `${path} exports ${name}, which nobody imports`);
    });
}

const isType = (sort: string) => sort === "type" || sort === "interface";

/** Named again beside where it is declared. */
const isUsedIn = (code: string, name: string) => code.split(new RegExp(`(?<![\\w$])${name}(?![\\w$])`)).length > 2;

/** By the path of a file, the names that others import of it. */
function namesImported(files: SourceFile[]): Map<string, Set<string>> {
  const imported = new Map<string, Set<string>>();
  const note = (path: string, name: string) => {
    const names = imported.get(path) ?? new Set();
    imported.set(path, names.add(name));
  };
  for (const { path, text } of files) {
    const code = codeOf(text);
    for (const [, clause, from] of code.matchAll(NAMED))
      for (const name of namesIn(clause!)) note(resolved(path, from!), name);
    for (const [, from, dynamic] of code.matchAll(WHOLE)) note(resolved(path, (from ?? dynamic)!), ANY);
  }
  return imported;
}

const namesIn = (clause: string): string[] =>
  clause
    .split(",")
    .map(
      (part) =>
        part
          .trim()
          .replace(/^type\s+/, "")
          .split(/\s+as\s+/)[0]!,
    )
    .filter((name) => name !== "");
