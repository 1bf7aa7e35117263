/** `millrace mcp`: Millrace as tools for agents and editors, over the Model Context Protocol on standard input and output. */
import { Server } from "@modelcontextprotocol/server";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { Command, Option } from "commander";
import { ApiClient } from "./api.ts";
import { Failure } from "./failure.ts";
import { type Answered, answerOf, refusalOf } from "./mcp/answers.ts";
import { derivedTools, GROUPS } from "./mcp/derived-tools.ts";
import { ownTools } from "./mcp/own-tools.ts";
import type { Around, Tool } from "./mcp/tool.ts";
import { type TargetOptions, withTarget } from "./profiles.ts";
import type { Shell } from "./shell.ts";
import { VERSION } from "./version.ts";

const INSTRUCTIONS =
  "Millrace runs Pods and serverless endpoints on machines that its owner has. Records that wait or failed carry a reason code: " +
  "explain_reason says what a code means and what to do. run_job submits a job and waits for it; read_logs shows what a program wrote.";

interface McpOptions extends TargetOptions {
  only?: string[];
  readOnly?: boolean;
}

export function mcpCommand(shell: Shell): Command {
  const only = new Option("--only <groups...>", "only tools of these groups").choices(Object.keys(GROUPS));
  return withTarget(new Command("mcp"))
    .description("serve Millrace to agents and editors, as tools of the Model Context Protocol")
    .addOption(only)
    .option("--read-only", "only tools that change nothing")
    .addHelpText(
      "after",
      '\nExample, in the settings of an agent:\n  {"command": "millrace", "args": ["mcp", "--read-only"]}',
    )
    .action(async (options: McpOptions) => serveTools(shell, options));
}

/** Serves until the agent hangs up. Nothing but the protocol may be written to standard output. */
async function serveTools(
  { env, clock, stdin, stdout }: Shell,
  { only, readOnly, ...target }: McpOptions,
): Promise<void> {
  const client = await ApiClient.open(target, env);
  const tools = [...ownTools, ...derivedTools(only)].filter(({ isReading }) => isReading || !readOnly);
  const server = new Server(
    { name: "millrace", version: VERSION },
    { capabilities: { tools: {} }, instructions: INSTRUCTIONS },
  );
  server.setRequestHandler("tools/list", () => ({ tools: tools.map(shown) }));
  server.setRequestHandler("tools/call", ({ params }) =>
    answered(
      { client, clock },
      tools.find(({ name }) => name === params.name),
      params.arguments ?? {},
    ),
  );
  const over = Promise.withResolvers<void>();
  let fault: Error | undefined;
  server.onerror = (error) => {
    fault = error;
  };
  // A message that is too long closes the connection. Nothing would answer any more, so the program ends too.
  server.onclose = () => over.resolve();
  let isGone = false;
  stdin.once("end", () => {
    isGone = true;
    over.resolve();
  });
  await server.connect(new StdioServerTransport(stdin, stdout));
  await over.promise;
  await server.close();
  if (!isGone) throw new Failure(`the agent was hung up on: ${fault?.message ?? "the connection closed"}`);
}

const shown = ({ name, title, description, inputSchema, isReading, isDestroying }: Tool) => ({
  ...{ name, title, description, inputSchema },
  annotations: { title, readOnlyHint: isReading, destructiveHint: isDestroying },
});

/** A refusal is an answer too: the agent reads the reason and what to do about it. */
async function answered(around: Around, tool: Tool | undefined, given: Record<string, unknown>): Promise<Answered> {
  if (!tool) return refusalOf(new Failure("There is no tool of this name. List the tools again."));
  try {
    return answerOf(await tool.call(around, given));
  } catch (error) {
    if (error instanceof Failure) return refusalOf(error);
    throw error;
  }
}
