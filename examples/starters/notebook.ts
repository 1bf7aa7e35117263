/** A notebook of JavaScript cells in the browser, stored in a file on this machine. */
import { accessSync, constants } from "node:fs";
import { readFile, rename, writeFile } from "node:fs/promises";
import type { Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import type { Ran } from "./notebook-kernel.ts";
import { ASKING, jsonOf, openSite, page, passwordIn, Refused, sendJson } from "./site.ts";

const PAGE = page(
  "Notebook",
  `<h1>Notebook</h1><div id="cells"></div>
<p><button id="add">Add a cell</button> <button id="restart">Restart</button> Shift+Enter runs a cell.</p>
<script type="module">${ASKING}
const cells = document.getElementById("cells");
const json = { "content-type": "application/json" };
const save = () => ask("api/notebook", { method: "PUT", headers: json, body: JSON.stringify({ cells: [...cells.children].map((cell) => (
  { code: cell.querySelector("textarea").value, output: cell.querySelector("pre").textContent })) }) });
function add({ code = "", output = "" } = {}) {
  const cell = document.createElement("div");
  const text = Object.assign(document.createElement("textarea"), { value: code, rows: 4, style: "width:100%" });
  const shown = Object.assign(document.createElement("pre"), { textContent: output });
  text.onkeydown = async (event) => {
    if (event.key !== "Enter" || !event.shiftKey) return;
    event.preventDefault();
    shown.textContent = "…";
    const ran = await (await ask("api/run", { method: "POST", headers: json, body: JSON.stringify({ code: text.value }) })).json();
    shown.textContent = [ran.output, ran.result, ran.error?.message ?? ran.error].filter(Boolean).join("\\n");
    await save();
  };
  cell.append(text, shown);
  cells.append(cell);
}
document.getElementById("add").onclick = () => add();
document.getElementById("restart").onclick = () => ask("api/restart", { method: "POST" });
for (const cell of (await (await ask("api/notebook")).json()).cells) add(cell);
if (cells.children.length === 0) add({ code: "1 + 1" });
</script>`,
);

const KERNEL = new URL("./notebook-kernel.ts", import.meta.url);
const EMPTY = { cells: [] };

/** Cells run one after the other, even those of two tabs. */
class Kernel {
  #thread: Worker | undefined;
  #turn: Promise<unknown> = Promise.resolve();

  run(code: string): Promise<Ran> {
    const next = this.#turn.then(() => this.#runNow(code));
    this.#turn = next;
    return next;
  }

  /** Ends the running cell and forgets all declarations. */
  async restart(): Promise<void> {
    const thread = this.#thread;
    this.#thread = undefined;
    await thread?.terminate();
  }

  #runNow(code: string): Promise<Ran> {
    this.#thread ??= new Worker(KERNEL);
    const thread = this.#thread;
    return new Promise((resolve) => {
      const ended = (why: string) => () => resolve({ output: "", result: null, error: why });
      const [failed, gone] = [ended("the thread failed; run the cell again"), ended("the notebook was restarted")];
      const done = (ran: Ran) => {
        thread.off("error", failed).off("exit", gone);
        resolve(ran);
      };
      thread.once("message", done).once("error", failed).once("exit", gone);
      thread.once("exit", () => {
        if (this.#thread === thread) this.#thread = undefined;
      });
      thread.postMessage(code);
    });
  }
}

export function openNotebook(password: string, file: string): Server & { kernel: Kernel } {
  const kernel = new Kernel();
  const server = openSite({
    password,
    open: { "GET /": PAGE },
    guarded: {
      "GET /api/notebook": async (_, response) => sendJson(response, await readNotebook(file)),
      "PUT /api/notebook": async (request, response) => {
        const { cells } = await jsonOf<{ cells?: unknown }>(request);
        if (!Array.isArray(cells)) throw new Refused(400, "'cells' must be a list.");
        // The file is replaced as a whole, because a Pod may end at any moment.
        await writeFile(`${file}.new`, JSON.stringify({ cells }));
        await rename(`${file}.new`, file);
        response.writeHead(204).end();
      },
      "POST /api/run": async (request, response) => {
        const { code } = await jsonOf<{ code?: unknown }>(request);
        if (typeof code !== "string") throw new Refused(400, "'code' must be a text.");
        sendJson(response, await kernel.run(code));
      },
      "POST /api/restart": async (_, response) => {
        await kernel.restart();
        response.writeHead(204).end();
      },
    },
  });
  return Object.assign(server, { kernel });
}

async function readNotebook(file: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(file, "utf8"));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return EMPTY;
    throw error;
  }
}

/** The folder that lasts as long as the Pod, if there is one. */
function workspace(): string {
  try {
    accessSync("/workspace", constants.W_OK);
    return "/workspace";
  } catch {
    return tmpdir();
  }
}

if (import.meta.main) {
  const port = Number(process.env.PORT ?? 8888);
  const file = process.env.NOTEBOOK_FILE ?? join(workspace(), "notebook.json");
  const server = openNotebook(passwordIn(process.env, console.log), file);
  server.listen(port, () => console.log(`a notebook at port ${port}, kept in ${file}`));
}
