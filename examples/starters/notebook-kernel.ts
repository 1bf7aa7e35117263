/** Runs the cells of a notebook, one after the other in one context, in a thread that can be ended. */
import { createRequire } from "node:module";
import { format, inspect } from "node:util";
import { createContext, Script } from "node:vm";
import { parentPort } from "node:worker_threads";

export interface Ran {
  output: string;
  /** The value of the last expression as text, or null if there is none. */
  result: string | null;
  error: string | null;
}

const LONGEST_OUTPUT = 256 * 1024;
let output = "";

const write = (...words: unknown[]) => {
  output = `${output}${format(...words)}\n`.slice(0, LONGEST_OUTPUT);
};
const console = { log: write, info: write, warn: write, error: write, debug: write };
const { fetch, setTimeout, clearTimeout, setInterval, clearInterval, URL, TextEncoder, TextDecoder, Buffer } =
  globalThis;
const offered = { fetch, setTimeout, clearTimeout, setInterval, clearInterval, URL, TextEncoder, TextDecoder, Buffer };
const context = createContext({ ...offered, console, process, require: createRequire(import.meta.url) });

/** Declarations stay for later cells. A cell that awaits is wrapped in a function, so other cells do not see its names. */
function compiled(code: string): Script {
  try {
    return new Script(code, { filename: "cell" });
  } catch (error) {
    if (!(error instanceof SyntaxError) || !/\bawait\b/.test(code)) throw error;
    return new Script(`(async () => {\n${code}\n})()`, { filename: "cell", lineOffset: -1 });
  }
}

async function run(code: string): Promise<Ran> {
  output = "";
  try {
    const value: unknown = await compiled(code).runInContext(context);
    const result = value === undefined ? null : inspect(value, { depth: 4 }).slice(0, LONGEST_OUTPUT);
    return { output, result, error: null };
  } catch (error) {
    return { output, result: null, error: error instanceof Error ? `${error.name}: ${error.message}` : String(error) };
  }
}

parentPort?.on("message", (code: string) => {
  const report = (ran: Ran) => parentPort?.postMessage(ran);
  run(code).then(report, (error) => report({ output: "", result: null, error: String(error) }));
});
