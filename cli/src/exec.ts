/** `millrace exec`: runs a program in a Pod or worker of a server, connected to this terminal. */
import { Command } from "commander";
import { ApiClient } from "./api.ts";
import { type TargetOptions, withTarget } from "./profiles.ts";
import type { Shell } from "./shell.ts";
import { Terminal } from "./terminal.ts";

interface Options extends TargetOptions {
  endpoint?: string;
  tty?: boolean;
}

const OF_A_POD = { method: "POST", path: "/v2/pods/{id}/terminal" } as const;
const OF_A_WORKER = { method: "POST", path: "/v2/serverless/{endpoint}/workers/{id}/terminal" } as const;

export function execCommand(shell: Shell): Command {
  return withTarget(
    new Command("exec").description(
      "run a program in a Pod, or in a worker of an endpoint; needs a key with pods:exec or serverless:exec",
    ),
  )
    .argument("<id>", "the Pod's id, or with --endpoint the worker's")
    .argument("[command...]", "the program and its arguments, behind '--'; default: a shell")
    .option("--endpoint <id>", "the endpoint whose worker it is")
    .option("--tty", "give the program a terminal; default: where this has one")
    .option("--no-tty", "give it none: bytes pass as they are, and errors apart")
    .addHelpText("after", "\nExample:\n  millrace exec POD -- nvidia-smi")
    .action(async (id: string, command: string[], { endpoint, tty, ...target }: Options) => {
      const api = await ApiClient.open(target, shell.env);
      const terminal = new Terminal(shell, tty);
      const body = { ...(command.length > 0 && { command }), ...terminal.wish(shell.env.TERM) };
      const opens = endpoint === undefined ? OF_A_POD : OF_A_WORKER;
      const { ticket } = (await api.call(opens, { params: { id, endpoint: endpoint ?? "" }, body })) as {
        ticket: string;
      };
      shell.exit(await terminal.run(`${api.target.url.replace(/^http/, "ws")}/v2/terminals/${ticket}`));
    });
}
