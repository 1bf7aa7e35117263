/** Finds places where a failure would reach only the process: dropped promises, async listeners, and emitters without error handlers. */
import { codeOf, isTest, isTool, type SourceFile } from "./source-tree.ts";

const products = (files: SourceFile[]) => files.filter(({ path }) => !isTest(path) && !isTool(path));

function found(files: SourceFile[], pattern: RegExp, say: (match: RegExpExecArray) => string | undefined): string[] {
  return products(files).flatMap(({ path, text }) =>
    [...codeOf(text).matchAll(pattern)].flatMap((match) => say(match) ?? []).map((what) => `${path} ${what}`),
  );
}

/** These return no promise, so `void` may precede them. */
const RETURNS_NO_PROMISE = /\.(?:destroy|off)$/;

/** The console shows a failure that nobody took to the person who looks at it: `main.tsx` hears of all of them. */
const withoutConsole = (files: SourceFile[]) => files.filter(({ path }) => !path.startsWith("console/src/"));

/** `void` drops a promise. `floating` of the kernel asks who is told of its failure. */
export function promisesLetGo(files: SourceFile[]): string[] {
  return found(withoutConsole(files), /\bvoid\s+([\w.#!?]+)\(/g, ([, callee]) =>
    RETURNS_NO_PROMISE.test(callee!) ? undefined : `lets go of what ${callee} promises`,
  );
}

const LISTENING =
  /\b(on|once|addListener|prependListener|addEventListener|after|listen|hear|setTimeout|setInterval|setImmediate|queueMicrotask|nextTick|soon)\(\s*(?:[^\s,()]+\s*,\s*)?async\b/g;

/** The caller of a listener or a timer's action ignores what it returns. */
export function asyncListeners(files: SourceFile[]): string[] {
  return found(files, LISTENING, ([, word]) => `gives ${word} an async function`);
}

const MAKES_AN_EMITTER =
  /\b(new Worker|new Client|new Pool|new Socket|spawn|fork|createServer|createHttpServer|createConnection|connect|request)\(/g;

const FROM = /^node:(?:worker_threads|child_process|net|http|https|tls|fs)$|^pg$/;

/** A file that makes an emitter of errors must handle them. */
export function errorsUnheard(files: SourceFile[]): string[] {
  const makers = files.filter(({ imports }) => imports.some(({ to, typeOnly }) => !typeOnly && FROM.test(to)));
  return found(makers, MAKES_AN_EMITTER, (match) =>
    /["']error["']/.test(match.input) ? undefined : `hears no errors of its ${match[1]}`,
  );
}
