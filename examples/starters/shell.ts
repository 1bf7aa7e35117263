/** A shell in the browser: a page sends lines to a shell on this machine and shows its output. */
import { type ChildProcess, spawn } from "node:child_process";
import type { Server, ServerResponse } from "node:http";
import { ASKING, bodyOf, openSite, page, passwordIn } from "./site.ts";

/** How much earlier output a new reader gets. */
const REMEMBERED = 64 * 1024;
const LISTENERS_AT_MOST = 32;

const PAGE = page(
  "Shell",
  `<h1>Shell</h1><pre id="out" style="height:60vh;overflow:auto;background:#111;color:#ddd;padding:1em"></pre>
<form id="form">$ <input id="line" size="80" autofocus autocomplete="off"> <button>Run</button> <button type="button" id="stop">Interrupt</button></form>
<script type="module">${ASKING}
const out = document.getElementById("out"), line = document.getElementById("line");
document.getElementById("form").onsubmit = (event) => {
  event.preventDefault();
  ask("input", { method: "POST", body: line.value });
  line.value = "";
};
document.getElementById("stop").onclick = () => ask("interrupt", { method: "POST" });
for (;;) {
  const reader = (await ask("output")).body.pipeThrough(new TextDecoderStream()).getReader();
  out.textContent = "";
  for (let read; !(read = await reader.read()).done; out.scrollTop = out.scrollHeight) out.append(read.value);
}
</script>`,
);

class Shell {
  readonly #readers = new Set<ServerResponse>();
  #written = "";
  #process: ChildProcess | undefined;

  get process(): ChildProcess {
    this.#process ??= this.#start();
    return this.#process;
  }

  /** All readers see the output, and also the line itself, as in a terminal. */
  run(line: string): void {
    this.#show(`$ ${line}\n`);
    this.process.stdin?.write(`${line}\n`);
  }

  /** Kills the shell and everything it started. The next line starts a new one. */
  interrupt(): void {
    const { pid } = this.#process ?? {};
    if (pid !== undefined) process.kill(-pid, "SIGKILL");
  }

  follow(response: ServerResponse): void {
    if (this.#readers.size >= LISTENERS_AT_MOST) return void response.writeHead(503).end();
    response.writeHead(200, { "content-type": "text/plain; charset=utf-8", "x-accel-buffering": "no" });
    response.write(this.#written || "Ready.\n");
    this.#readers.add(response);
    response.once("close", () => this.#readers.delete(response));
  }

  #start(): ChildProcess {
    const started = spawn("sh", [], { detached: true, stdio: "pipe" });
    for (const stream of [started.stdout, started.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => this.#show(text));
    started.stdin.on("error", () => undefined);
    started.once("error", (error) => this.#show(`no shell: ${error.message}\n`));
    started.once("close", (code, signal) => {
      this.#show(`[the shell ended: ${signal ?? code}]\n`);
      this.#process = undefined;
    });
    return started;
  }

  #show(text: string): void {
    this.#written = (this.#written + text).slice(-REMEMBERED);
    process.stdout.write(text);
    for (const reader of this.#readers) reader.write(text);
  }
}

export function openShell(password: string): Server & { shell: Shell } {
  const shell = new Shell();
  const server = openSite({
    password,
    open: { "GET /": PAGE },
    guarded: {
      "GET /output": (_, response) => shell.follow(response),
      "POST /input": async (request, response) => {
        shell.run(await bodyOf(request));
        response.writeHead(204).end();
      },
      "POST /interrupt": (_, response) => {
        shell.interrupt();
        response.writeHead(204).end();
      },
    },
  });
  return Object.assign(server, { shell });
}

if (import.meta.main) {
  const port = Number(process.env.PORT ?? 7681);
  openShell(passwordIn(process.env, console.log)).listen(port, () => console.log(`a shell at port ${port}`));
}
