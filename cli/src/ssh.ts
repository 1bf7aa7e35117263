/** `millrace ssh`: runs the ssh program of this machine with what it needs to reach a Pod. */
import { spawn } from "node:child_process";
import { podOperations } from "@millrace/platform/resources/pods/operations.ts";
import { Command } from "commander";
import { ApiClient } from "./api.ts";
import { Failure } from "./failure.ts";
import { byIdOrName } from "./names.ts";
import { type TargetOptions, withTarget } from "./profiles.ts";
import { type Shell, writeLine } from "./shell.ts";

interface Options extends TargetOptions {
  identity?: string;
  forward?: string[];
  socks?: string;
  direct?: boolean;
  print?: boolean;
}

const all = (text: string, before: string[] = []) => [...before, text];

export function sshCommand(shell: Shell): Command {
  return withTarget(new Command("ssh").description("open a shell in a Pod by ssh, or run a command in it"))
    .argument("<pod>", "id or name of the Pod")
    .argument("[command...]", "the command and its arguments, behind '--'; default: a shell")
    .option("-i, --identity <file>", "the private key; default: as ssh chooses")
    .option("-L, --forward <spec>", "bring a port of the Pod here, such as 8080:localhost:8080; repeatable", all)
    .option("-D, --socks <port>", "reach all ports of the Pod by a SOCKS proxy here")
    .option("--direct", "reach the SSH server in the Pod itself, at its published port 22")
    .option("--print", "print the command line, and run nothing")
    .addHelpText("after", "\nExample:\n  millrace ssh box --print")
    .action(async (pod: string, command: string[], options: Options) => {
      const api = await ApiClient.open(options, shell.env);
      const { id, status, ssh } = await byIdOrName(api, podOperations.listPods, pod, (id) =>
        api.call(podOperations.getPod, { params: { id } }),
      );
      const way = options.direct ? ssh.direct : ssh.proxy;
      if (!way) throw new Failure(whyNot(id, status, options));
      const args = [...argsFor(way, options), ...command];
      if (options.print) return writeLine(shell.stdout, ["ssh", ...args].map(quoted).join(" "));
      shell.exit(await run(args));
    });
}

function argsFor(
  way: { host: string; port: number; username: string },
  { identity, forward = [], socks }: Options,
): string[] {
  return [
    ...["-p", String(way.port)],
    ...(identity === undefined ? [] : ["-i", identity, "-o", "IdentitiesOnly=yes"]),
    ...forward.flatMap((spec) => ["-L", spec]),
    ...(socks === undefined ? [] : ["-D", socks]),
    // A host or a user that a server names is never read as an option.
    "--",
    `${way.username}@${way.host}`,
  ];
}

const whyNot = (id: string, status: string, { direct }: Options) =>
  direct
    ? `Pod ${id} publishes no port 22: create it with --ports 22/tcp and an SSH server in its image, or leave --direct out`
    : `Pod ${id} is ${status} and has no way in by SSH: it must have run once, and the server must serve SSH (MILLRACE_SSH_PORT)`;

const quoted = (text: string) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);

function run(args: string[]): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const ssh = spawn("ssh", args, { stdio: "inherit" });
  ssh.on("error", (error: NodeJS.ErrnoException) => {
    const why =
      error.code === "ENOENT"
        ? "the program ssh is not installed: install OpenSSH's client, or use 'millrace exec'"
        : error.message;
    reject(new Failure(why));
  });
  ssh.on("exit", (code, signal) => resolve(code ?? (signal === null ? 1 : 255)));
  return promise;
}
