/** The command line: each verb is one file, and only the requested one is loaded. */
import { holding, realClock } from "@millrace/platform/kernel/clock.ts";
import { Command, type CommanderError } from "commander";
import { EXIT, Failure } from "./failure.ts";
import type { Shell } from "./shell.ts";
import { askedFor, verbs } from "./verbs.ts";
import { VERSION } from "./version.ts";

// The launcher sets this for itself. Programs started from here must not inherit it.
delete process.env.NODE_COMPILE_CACHE;

const { env, stdout } = process;
// The reader is gone, as with `head`: nothing more is wanted.
stdout.on("error", () => process.exit(EXIT.unread));
let stop: AbortController | undefined;

const shell: Shell = {
  ...{ env, stdout, clock: realClock },
  // Node opens these streams when they are first asked for, and most verbs need neither.
  get stdin() {
    return process.stdin;
  },
  get stderr() {
    return process.stderr;
  },
  interrupted() {
    if (!stop) {
      const stopping = new AbortController();
      stop = stopping;
      process.once("SIGINT", () => {
        shell.exit(EXIT.interrupted);
        stopping.abort();
      });
    }
    return stop.signal;
  },
  exit(code) {
    process.exitCode = code;
  },
};

const program = new Command("millrace").description("An open, self-hosted cloud compute platform.").version(VERSION);

/** Commander ends with 1 where the command line is wrong. Ours is a status of its own. */
function withOwnExits(command: Command): void {
  command.showHelpAfterError("(see --help)");
  command.exitOverride(({ exitCode }: CommanderError) => process.exit(exitCode === 0 ? 0 : EXIT.wrongUse));
  command.commands.forEach(withOwnExits);
}

async function run(): Promise<void> {
  const [asked, inner] = askedFor(process.argv.slice(2));
  for (const { name, about, load, isHidden = false } of verbs)
    program.addCommand(name === asked ? await load(shell, inner) : new Command(name).description(about), {
      hidden: isHidden,
    });
  withOwnExits(program);
  await program.parseAsync();
}

function sayWhyNot(error: unknown): void {
  // A person who pressed Ctrl-C knows why the work broke off, and hears only of what goes on without it.
  if (stop?.signal.aborted && !(error instanceof Failure)) return;
  const { errors = [] } = error as { errors?: readonly string[] };
  console.error([`millrace: ${(error as Error).message}`, ...errors].join("\n  "));
  process.exitCode = error instanceof Failure ? error.exitCode : EXIT.failed;
}

holding(run()).catch(sayWhyNot);
