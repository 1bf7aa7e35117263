/** The rule that every export has a user: a value that no other file imports is not exported, and an unused one is removed. */
import { codeOf, isTest, isTool, resolved, type SourceFile } from "./source-tree.ts";

/** Matches `import { a, type B as C } from "x"`, and the same with `export`. */
const NAMED = /(?:^|\n)\s*(?:import|export)\s+(?:type\s+)?(?:\w+\s*,\s*)?\{([^}]*)\}\s*from\s*["']([^"']+)["']/g;
/** Matches `import * as x from "x"`, `export * from "x"` and `import("x")`, where any name may be used. */
const WHOLE =
  /(?:^|\n)\s*(?:import|export)\s+(?:type\s+)?\*(?:\s+as\s+\w+)?\s+from\s*["']([^"']+)["']|\bimport\(\s*["'`]([^"'`]+)["'`]\s*\)/g;
const EXPORTED =
  /^export\s+(?:abstract\s+|async\s+)?(const|let|function\*?|class|type|interface)\s+([A-Za-z_$][\w$]*)/gm;

const ANY = "*";

/**
 * Exported values that no other file imports, and exported types that nothing uses. A type that its own file uses may be exported for
 * callers.
 */
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

/** Whether the name occurs again, apart from its declaration. */
const isUsedIn = (code: string, name: string) => code.split(new RegExp(`(?<![\\w$])${name}(?![\\w$])`)).length > 2;

/** For each file path, the names that other files import from it. */
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
