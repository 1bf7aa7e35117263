/** Runs a public MCP server package as its users do: a program that is spoken to over its standard input and output. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import type { Server } from "./process.ts";

interface Tool {
  name: string;
}

interface Message {
  id?: number;
  result?: { tools?: Tool[]; isError?: boolean; content?: { text: string }[] };
  error?: { message: string };
}

export interface McpClient extends AsyncDisposable {
  tools: readonly string[];
  /** The names of the tools that were called. */
  called: ReadonlySet<string>;
  /** Calls a tool and returns its answer. Throws its message if it fails. */
  // biome-ignore lint/suspicious/noExplicitAny: the answer of any tool; the test checks it
  call(tool: string, args?: object): Promise<any>;
}

const require = createRequire(import.meta.url);

/** The settings that tell each version where the server is. */
const addresses = ({ url }: Server, restVersion: string) => ({
  RUNPOD_API_BASE_URL: url,
  RUNPOD_REST_VERSION: restVersion,
  RUNPOD_REST_API_URL: `${url}/v1`,
  RUNPOD_REST_V2_API_URL: `${url}/v2`,
  RUNPOD_SERVERLESS_API_URL: `${url}/v2`,
  RUNPOD_PUBLIC_GRAPHQL_URL: `${url}/graphql`,
  RUNPOD_AUTHED_GRAPHQL_URL: `${url}/graphql`,
});

export async function startMcp(
  pkg: "mcp-server-3" | "mcp-server-4",
  server: Server,
  { key, restVersion = "v2" }: { key: string; restVersion?: "v1" | "v2" },
): Promise<McpClient> {
  const program = join(dirname(require.resolve(`${pkg}/package.json`)), "dist", "stdio.mjs");
  const child = spawn(process.execPath, [program], {
    env: { PATH: process.env.PATH ?? "", HOME: "/nonexistent", RUNPOD_API_KEY: key, ...addresses(server, restVersion) },
    stdio: ["pipe", "pipe", "ignore"],
  });
  const waiting = new Map<number, (message: Message) => void>();
  createInterface({ input: child.stdout }).on("line", (line) => {
    const message = JSON.parse(line) as Message;
    if (message.id !== undefined) waiting.get(message.id)?.(message);
  });
  child.once("exit", (code) => {
    for (const answer of waiting.values()) answer({ error: { message: `the program ended with ${code}` } });
  });
  let ids = 0;
  const send = (message: object) => child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  const ask = (method: string, params: object = {}) =>
    new Promise<NonNullable<Message["result"]>>((resolve, reject) => {
      const id = ++ids;
      waiting.set(id, ({ result, error }) => (error ? reject(new Error(error.message)) : resolve(result!)));
      send({ id, method, params });
    });
  const clientInfo = { name: "test", version: "1" };
  await ask("initialize", { protocolVersion: "2025-03-26", capabilities: {}, clientInfo });
  send({ method: "notifications/initialized" });
  const { tools = [] } = await ask("tools/list");
  const called = new Set<string>();
  return {
    tools: tools.map(({ name }) => name),
    called,
    async call(tool, args = {}) {
      called.add(tool);
      const { isError, content = [] } = await ask("tools/call", { name: tool, arguments: args });
      const text = content.map(({ text }) => text).join("\n");
      if (isError) throw new Error(`${tool}: ${text}`);
      return parsed(text);
    },
    async [Symbol.asyncDispose]() {
      child.kill();
      await once(child, "exit");
    },
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
