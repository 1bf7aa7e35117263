/** One bash that runs the blocks of a document in their order, as a reader's terminal does. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startChild } from "../child.ts";

export interface Ran {
  output: string;
  /** The commands that failed, and what they wrote to standard error. */
  failed: string;
}

export interface Bash extends AsyncDisposable {
  run(code: string): Promise<Ran>;
}

/** A refused request fails its block. Each answer ends its line, so that the next one begins another. */
const PRELUDE = `
curl() { command curl --silent --show-error --fail-with-body --max-time 60 "$@"; local code=$?; echo; return $code; }
set -o pipefail -o errtrace
trap 'echo "failed: $BASH_COMMAND" >&2; failed=1' ERR
`;

export async function openBash(cwd: string, env: Record<string, string>): Promise<Bash> {
  const folder = await mkdtemp(join(tmpdir(), "millrace-blocks-"));
  const child = startChild(
    "bash",
    ["--norc", "-c", `cd "$0" && ${PRELUDE}\nwhile read -r line; do eval "$line"; done`, cwd],
    env,
  );
  let text = "";
  let heard = Promise.withResolvers<void>();
  const tell = () => {
    heard.resolve();
    heard = Promise.withResolvers();
  };
  child.stdout.setEncoding("utf8").on("data", (part: string) => {
    text += part;
    tell();
  });
  child.once("close", tell);

  async function said(end: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const found = end.exec(text);
      if (found) return found;
      if (child.exitCode !== null || child.signalCode !== null) throw new Error(`bash ended: ${text}`);
      await heard.promise;
    }
  }

  let count = 0;
  return {
    async run(code) {
      count += 1;
      const file = join(folder, `block-${count}.sh`);
      await writeFile(file, code);
      text = "";
      child.stdin.write(
        `failed=; source ${file} 2>${file}.err </dev/null; printf '\\n--- %s %s\\n' ${count} "$failed"\n`,
      );
      const found = await said(new RegExp(`\\n--- ${count} (1?)\\n$`));
      const errors = await readFile(`${file}.err`, "utf8");
      return { output: found.input.slice(0, found.index).trim(), failed: found[1] ? errors : "" };
    },
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await rm(folder, { recursive: true, force: true });
    },
  };
}
