/** The programs of the official templates. */
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openNotebook } from "./notebook.ts";
import { MODEL, openChatServer } from "./openai-server.ts";
import { openShell } from "./shell.ts";
import { passwordIn } from "./site.ts";

const PASSWORD = "correct horse";

async function listening<S extends Server>(server: S) {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const ask = (method: string, path: string, body?: string, password = PASSWORD) =>
    fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${password}` },
      ...(body !== undefined && { body }),
    });
  return {
    server,
    ask,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

test("the password is the Pod's, or one that its log says", () => {
  const said: string[] = [];
  expect(passwordIn({ JUPYTER_PASSWORD: "p" }, (line) => said.push(line))).toBe("p");
  expect(said).toEqual([]);
  const made = passwordIn({}, (line) => said.push(line));
  expect([made, said]).toEqual([expect.stringMatching(/^[0-9a-f]{24}$/), [expect.stringContaining(made)]]);
});

describe("the shell", () => {
  test("runs lines and shows what they write, to those who know the password", async () => {
    await using site = await listening(openShell(PASSWORD));
    expect((await site.ask("GET", "/", undefined, "wrong")).status).toBe(200);
    expect((await site.ask("POST", "/input", "touch /tmp/never", "wrong")).status).toBe(401);
    const output = (await site.ask("GET", "/output")).body!.pipeThrough(new TextDecoderStream()).getReader();
    await site.ask("POST", "/input", "X=6; echo $((X * 7))");
    expect(await textUntil(output, "42")).toContain("$ X=6; echo");
    await site.ask("POST", "/interrupt");
    expect(await textUntil(output, "[the shell ended")).toContain("SIGKILL");
    await site.ask("POST", "/input", "echo again; exit 3");
    expect(await textUntil(output, "ended: 3")).toContain("again");
    await output.cancel();
  });
});

async function textUntil(reader: ReadableStreamDefaultReader<string>, part: string): Promise<string> {
  let text = "";
  while (!text.includes(part)) {
    const { value, done } = await reader.read();
    if (done) throw new Error(`it ended with ${text}`);
    text += value;
  }
  return text;
}

describe("the notebook", () => {
  async function setup() {
    const folder = await mkdtemp(join(tmpdir(), "notebook-"));
    const file = join(folder, "notebook.json");
    const site = await listening(openNotebook(PASSWORD, file));
    const end = site[Symbol.asyncDispose];
    return Object.assign(site, {
      file,
      run: async (code: string) => (await site.ask("POST", "/api/run", JSON.stringify({ code }))).json(),
      async [Symbol.asyncDispose]() {
        await site.server.kernel.restart();
        await end();
        await rm(folder, { recursive: true });
      },
    });
  }

  test("runs cells that know of each other, also those that wait or fail", async () => {
    await using site = await setup();
    expect(await site.run("let x = 6; x * 7")).toEqual({ output: "", result: "42", error: null });
    expect(await site.run('console.log("x is", x)')).toEqual({ output: "x is 6\n", result: null, error: null });
    expect(await site.run("return await Promise.resolve(x + 1)")).toMatchObject({ result: "7" });
    expect(await site.run("missing")).toMatchObject({ result: null, error: "ReferenceError: missing is not defined" });
    expect((await site.ask("POST", "/api/run", "{}", "wrong")).status).toBe(401);
  });

  test("a cell that never ends is ended by a restart, which forgets what was declared", async () => {
    await using site = await setup();
    await site.run("let x = 1");
    // This runs before a request can arrive.
    const endless = site.server.kernel.run("for (;;);");
    await site.ask("POST", "/api/restart");
    expect(await endless).toMatchObject({ error: "the notebook was restarted" });
    expect(await site.run("typeof x")).toMatchObject({ result: "'undefined'" });
  });

  test("is kept in its file", async () => {
    await using site = await setup();
    expect(await (await site.ask("GET", "/api/notebook")).json()).toEqual({ cells: [] });
    const notebook = { cells: [{ code: "1 + 1", output: "2" }] };
    expect((await site.ask("PUT", "/api/notebook", JSON.stringify(notebook))).status).toBe(204);
    expect(JSON.parse(await readFile(site.file, "utf8"))).toEqual(notebook);
    expect(await (await site.ask("GET", "/api/notebook")).json()).toEqual(notebook);
    expect((await site.ask("PUT", "/api/notebook", "nonsense")).status).toBe(400);
  });
});

describe("the chat server", () => {
  const messages = [
    { role: "system", content: "Be brief." },
    { role: "user", content: "hello there" },
  ];
  const chat = (more: object = {}) => JSON.stringify({ model: MODEL, messages, ...more });

  test("has one model, which says back what it was told, each time the same", async () => {
    await using site = await listening(openChatServer());
    const models = (await (await site.ask("GET", "/v1/models")).json()) as { data: { id: string }[] };
    expect(models.data.map(({ id }) => id)).toEqual([MODEL]);
    const answer = await (await site.ask("POST", "/v1/chat/completions", chat())).json();
    expect(answer).toMatchObject({
      object: "chat.completion",
      choices: [{ message: { role: "assistant", content: "You said: hello there" }, finish_reason: "stop" }],
      usage: { prompt_tokens: 4, completion_tokens: 4, total_tokens: 8 },
    });
    expect(await (await site.ask("POST", "/v1/chat/completions", chat())).json()).toEqual(answer);
    expect((await site.ask("GET", "/ping")).status).toBe(200);
  });

  test("streams word by word to the end mark", async () => {
    await using site = await listening(openChatServer());
    const text = await (await site.ask("POST", "/v1/chat/completions", chat({ stream: true }))).text();
    const events = text.split("\n\n").filter(Boolean);
    expect(events.at(-1)).toBe("data: [DONE]");
    const deltas = events.slice(0, -1).map((event) => JSON.parse(event.slice("data: ".length)).choices[0].delta);
    expect(deltas.map(({ content = "" }) => content).join("")).toBe("You said: hello there");
  });

  test("says what is wrong, and asks for a key where it has one", async () => {
    await using site = await listening(openChatServer("key"));
    const post = (body: string, password?: string) => site.ask("POST", "/v1/chat/completions", body, password);
    expect((await post(chat(), "wrong")).status).toBe(401);
    const unknown = await post(chat({ model: "gpt" }), "key");
    expect([unknown.status, await unknown.text()]).toEqual([404, expect.stringContaining(MODEL)]);
    expect((await post("{", "key")).status).toBe(400);
    expect((await post("{}", "key")).status).toBe(400);
  });
});
