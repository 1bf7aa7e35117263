/** `millrace exec`: runs a program in a Pod or worker of a server, connected to this terminal. */
import { readFile } from "node:fs/promises";
import { Command } from "commander";
import { Terminal } from "./terminal.ts";

/** Every user of the machine can read a command line, so the key comes from the environment. */
export interface ExecEnvironment {
  MILLRACE_URL?: string | undefined;
  MILLRACE_API_KEY?: string | undefined;
  TERM?: string | undefined;
}

interface Options {
  endpoint?: string;
  url?: string;
  keyFile?: string;
  tty?: boolean;
}

const DEFAULT_URL = "http://127.0.0.1:7420";

export function execCommand(env: ExecEnvironment = {}): Command {
  return new Command("exec")
    .description("run a program in a Pod, or in a worker of an endpoint; needs a key with pods:exec or serverless:exec")
    .argument("<id>", "the Pod's id, or with --endpoint the worker's")
    .argument("[command...]", "the program and its arguments, behind '--'; default: a shell")
    .option("--endpoint <id>", "the endpoint whose worker it is")
    .option("--url <url>", `where the server is (or MILLRACE_URL; default ${DEFAULT_URL})`)
    .option("--key-file <file>", "file with the API key (or MILLRACE_API_KEY)")
    .option("--tty", "give the program a terminal; default: where this has one")
    .option("--no-tty", "give it none: bytes pass as they are, and errors apart")
    .action(async (id: string, command: string[], options: Options) => {
      const url = (options.url ?? env.MILLRACE_URL ?? DEFAULT_URL).replace(/\/+$/, "");
      const terminal = new Terminal(process, options.tty);
      const body = { ...(command.length > 0 && { command }), ...terminal.wish(env.TERM) };
      const path = options.endpoint === undefined ? `pods/${id}` : `serverless/${options.endpoint}/workers/${id}`;
      const ticket = await ticketFor(`${url}/v2/${path}/terminal`, await keyFrom(options, env), body);
      process.exitCode = await terminal.run(`${url.replace(/^http/, "ws")}/v2/terminals/${ticket}`);
    });
}

async function keyFrom({ keyFile }: Options, { MILLRACE_API_KEY: key }: ExecEnvironment): Promise<string> {
  if (keyFile !== undefined) return (await readFile(keyFile, "utf8")).trim();
  if (key) return key;
  throw new Error("no API key: set MILLRACE_API_KEY, or name a file that holds one by --key-file");
}

async function ticketFor(url: string, key: string, body: object): Promise<string> {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) }).catch((error: Error) => {
    throw new Error(`${new URL(url).origin} is not reachable: ${reasonOf(error)}`);
  });
  const answer = (await response.json().catch(() => ({}))) as { ticket?: string; detail?: string; errors?: string[] };
  if (answer.ticket !== undefined) return answer.ticket;
  const reason =
    answer.detail ?? `${new URL(url).origin} answered ${response.status}, and not as a server of Millrace does`;
  throw Object.assign(new Error(reason), { errors: answer.errors });
}

const reasonOf = ({ message, cause }: Error) =>
  (cause as NodeJS.ErrnoException | undefined)?.code ?? (cause as Error | undefined)?.message ?? message;
