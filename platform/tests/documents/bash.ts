/** One bash that runs the blocks of a document in their order, as a reader's terminal does. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startChild } from "../child.ts";

export interface Ran {
  output: string;
  /** The command that failed, and what the block wrote to standard error. */
  failed: string;
}

export interface Bash extends AsyncDisposable {
  /** Runs the code to its end, or until it has written `endsAfter`. Then it is ended, as a reader does with Ctrl-C. */
  run(code: string, endsAfter?: string): Promise<Ran>;
}

/** Only a block that waits for what never comes takes so long. */
const HANGS_MS = 90_000;
/** A refused request fails its block, and a failed command ends it. Each answer ends its line, so that the next one begins another. */
const PRELUDE = `
curl() {
  local fail=--fail-with-body
  case " $* " in *" -sf "*) fail= ;; esac
  command curl --silent --show-error $fail --max-time 60 "$@"
  local code=$?; echo; return $code
}
set -o pipefail -o errtrace
trap 'echo "failed: $BASH_COMMAND" >&2; failed=1; [ "$BASH_SUBSHELL" = 0 ] && return 1 2>/dev/null' ERR
endless() {
  set -m; (trap - ERR; source "$2") > "$2.out" 2>&1 & set +m
  until grep --quiet --fixed-strings -- "$1" "$2.out"; do kill -0 $! 2>/dev/null || break; sleep 0.05; done
  kill -KILL -- -$! 2>/dev/null || true; wait $! 2>/dev/null || true
  cat "$2.out"; grep --quiet --fixed-strings -- "$1" "$2.out"
}
echo ready
while read -r line; do eval "$line"; done
`;

export async function openBash(cwd: string, env: Record<string, string>): Promise<Bash> {
  const folder = await mkdtemp(join(tmpdir(), "millrace-blocks-"));
  // A session of its own: what a block leaves in the background ends with it.
  const child = startChild("setsid", ["bash", "--norc", "-c", `cd "$0" && ${PRELUDE}`, cwd], env);
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

  async function said(end: RegExp): Promise<RegExpExecArray | undefined> {
    const late = AbortSignal.timeout(HANGS_MS);
    late.addEventListener("abort", tell);
    for (;;) {
      const found = end.exec(text);
      if (found) return found;
      if (late.aborted || child.exitCode !== null || child.signalCode !== null) return undefined;
      await heard.promise;
    }
  }

  // Before that it may not have a session of its own, which is how it is ended.
  await said(/^ready\n/);
  let count = 0;
  return {
    async run(code, endsAfter) {
      count += 1;
      const file = join(folder, `block-${count}.sh`);
      await writeFile(file, code);
      text = "";
      const told = `printf '\\n--- %s %s\\n' ${count} "$failed"`;
      const run = endsAfter === undefined ? `source ${file}` : `endless '${endsAfter}' ${file}`;
      child.stdin.write(`failed=; ${run} 2>${file}.err </dev/null; ${told}\n`);
      const end = await said(new RegExp(`\\n--- ${count} (1?)\\n$`));
      const errors = await readFile(`${file}.err`, "utf8");
      if (!end) return { output: text.trim(), failed: `it does not end: ${errors}` };
      return { output: text.slice(0, end.index).trim(), failed: end[1] ? errors || "it failed without a word" : "" };
    },
    async [Symbol.asyncDispose]() {
      process.kill(-child.pid!, "SIGKILL");
      await rm(folder, { recursive: true, force: true });
    },
  };
}
