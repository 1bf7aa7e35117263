/** `millrace exec`: runs a program in a Pod or worker of a server, connected to this terminal. */
import { endpointOperations } from "@millrace/platform/resources/endpoints/operations.ts";
import { podOperations } from "@millrace/platform/resources/pods/operations.ts";
import { terminalOperations } from "@millrace/platform/resources/terminals/operations.ts";
import { Command } from "commander";
import { ApiClient } from "./api.ts";
import { byIdOrName } from "./names.ts";
import { type TargetOptions, withTarget } from "./profiles.ts";
import type { Shell } from "./shell.ts";
import { Terminal } from "./terminal.ts";

interface Options extends TargetOptions {
  endpoint?: string;
  tty?: boolean;
}

export function execCommand(shell: Shell): Command {
  return withTarget(
    new Command("exec").description(
      "run a program in a Pod, or in a worker of an endpoint; needs a key with pods:exec or serverless:exec",
    ),
  )
    .argument("<id>", "the Pod's id or name, or with --endpoint the worker's id")
    .argument("[command...]", "the program and its arguments, behind '--'; default: a shell")
    .option("--endpoint <id>", "id or name of the endpoint whose worker it is")
    .option("--tty", "give the program a terminal; default: where this has one")
    .option("--no-tty", "give it none: bytes pass as they are, and errors apart")
    .addHelpText("after", "\nExample:\n  millrace exec POD -- nvidia-smi")
    .action(async (id: string, command: string[], { endpoint, tty, ...target }: Options) => {
      const api = await ApiClient.open(target, shell.env);
      const terminal = new Terminal(shell, tty);
      const body = { ...(command.length > 0 && { command }), ...terminal.wish(shell.env.TERM) };
      const { createPodTerminal, createWorkerTerminal } = terminalOperations;
      const { ticket } =
        endpoint === undefined
          ? await byIdOrName(api, podOperations.listPods, id, (pod) =>
              api.call(createPodTerminal, { params: { id: pod }, body }),
            )
          : await byIdOrName(api, endpointOperations.listEndpoints, endpoint, (of) =>
              api.call(createWorkerTerminal, { params: { id: of, workerId: id }, body }),
            );
      shell.exit(await terminal.run(`${api.target.url.replace(/^http/, "ws")}/v2/terminals/${ticket}`));
    });
}
