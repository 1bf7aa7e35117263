/** `millrace dev`: runs one's own handler on this machine, with new code after each save. */
import { holding } from "@millrace/platform/kernel/clock.ts";
import { Command } from "commander";
import { EXIT } from "./failure.ts";
import { collect, parseCount, parseVariable, variablesIn } from "./parsing.ts";
import { type Shell, writeLine } from "./shell.ts";

interface Options {
  data?: string;
  port?: string;
  gpu?: number;
  envFile?: string[];
  env?: Record<string, string>;
  test: boolean;
  logLevel?: string;
}

const MOST_GPUS = 1024;

export function devCommand(shell: Shell): Command {
  return new Command("dev")
    .description("run your own handler here, with new code after each save")
    .argument("[handler]", "handler.py, handler.ts, or the folder that holds it; default: this folder")
    .option("--gpu <n>", "GPUs of each worker; virtual ones where the machine has none", parseCount(1, MOST_GPUS))
    .option("--env <name=value>", "variable for the handler; can be repeated", parseVariable)
    .option("--env-file <file>", "file with variables, one NAME=value a line; can be repeated", collect)
    .option("--port <port>", "port of the server; default: 7420, or another one while that is taken")
    .option("--data <dir>", "folder for the server's data; default: one for each project, in ~/.millrace-dev")
    .option("--no-test", "do not run test_input.json")
    .option("--log-level <level>", "the server's own log: error, warn, info or debug; default: error")
    .addHelpText("after", "\nExample:\n  millrace dev handler.py --env-file .env")
    .action(async (handler: string | undefined, options: Options) => {
      const { DevSession } = await import("./dev/session.ts");
      const given = { ...(await variablesIn(options.envFile)), ...options.env };
      const session = await DevSession.open(handler, { ...options, env: given }, shell);
      process.exit(await endOf(session, shell));
    });
}

/** Resolves with the exit code once a person has ended the session, and everything that it started is gone. */
async function endOf(session: AsyncDisposable, { stdout, stderr }: Shell): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>();
  let isEnding = false;
  const end = (): void => {
    // The next start on the same data ends what is left.
    if (isEnding) resolve(EXIT.interrupted);
    else endInOrder();
  };
  const endInOrder = (): void => {
    isEnding = true;
    writeLine(stdout, "» ending; Ctrl-C again ends at once");
    session[Symbol.asyncDispose]().then(
      () => resolve(0),
      (error: Error) => {
        writeLine(stderr, `millrace: could not end in order: ${error.message}`);
        resolve(EXIT.failed);
      },
    );
  };
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, end);
  return holding(promise);
}
