/** Starts more programs inside instances, each as confined as the instance's own. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { type Clock, sleep } from "../../kernel/clock.ts";
import type { ExecSpec } from "../../ports/compute/execution.ts";
import { ExecRefused } from "../../ports/compute/refusal.ts";
import { Descriptors } from "../machine/descriptors.ts";
import { type Identity, inheritedDescriptors, isAlive, readProcess } from "../machine/processes.ts";
import { quoted } from "../machine/quoted.ts";
import { TOOL_ENVIRONMENT } from "../machine/tools.ts";
import { HostExecution } from "./host-execution.ts";
import { dropTo, enterSandbox, environmentText, isInstanceUser, NAMESPACES } from "./sandbox.ts";

/** The tools that all executions of one driver share. */
export interface ExecTools {
  /** The prefix of the names of short-lived files in memory. */
  prefix: string;
  /** Absent without a sandbox. */
  sandbox?: { nsenter: string; bubblewrap: string; filter: string | undefined } | undefined;
  clock: Clock;
}

/** Where the program runs. */
export interface ExecPlace {
  id: string;
  launcher: Identity;
  /** The first process of the instance's own program, in a complete sandbox. */
  program: Identity;
  /** The instance's folder. */
  kept: string;
  cgroups: readonly string[];
  /** The working folder of the instance's own program. */
  folder: string;
}

const SCRIPT = join(import.meta.dirname, "exec.sh");
/** `launch.sh` keeps the variables of the instance's program open on this descriptor as long as the instance exists. */
const VARIABLES_FD = 3;
const SECCOMP_FD = 4;
const COMMAND_FD = 5;
const CALLER_FD = 6;
const LOOK_AGAIN_MS = 3;

/** The command of bubblewrap is two processes below `nsenter`. `script` runs the program on its terminal as a child. */
const SANDBOX_STEPS = 2;
const TERMINAL_STEPS = 1;

/** Reads the variables and then the command, which replaces the shell. */
const BECOME = `. /dev/fd/${VARIABLES_FD} && . /dev/fd/${COMMAND_FD}`;

/**
 * `script` of util-linux creates the terminal inside the sandbox and with the program's own rights. It is one of the instance's terminals,
 * so programs such as tmux find its name. A library in the server, such as node-pty, would create a terminal of the machine, and every
 * program started meanwhile would inherit it. Without `-E`, `script` would not echo, since its own input is no terminal.
 */
const ON_TERMINAL = ["/usr/bin/script", "-q", "-e", "-f", "-E", "always", "-c"] as const;
/** The type that terminals of containers have, unless the instance or the caller sets another. */
const TERMINAL_TYPE = "export TERM=xterm; ";

export async function execInside(tools: ExecTools, place: ExecPlace, spec: ExecSpec): Promise<HostExecution> {
  const { sandbox } = tools;
  using files = new Descriptors();
  // `nsenter` opens these by their path in this process, so no program inherits them.
  using entered = new DisposableStack();
  const held = entered.use(new Descriptors());
  const opened = sandbox
    ? NAMESPACES.map((name) => [name, held.open(`/proc/${place.program.pid}/ns/${name}`, "r")] as const)
    : [];
  const variables = files.open(`/proc/${place.launcher.pid}/fd/${VARIABLES_FD}`, "r");
  const user = sandbox && (await userOf(variables));
  if (user !== undefined) await dropped(place, user, tools.clock);
  // The process numbers may have been reused by now. If both processes are still the same, the opened namespaces are the program's.
  const same = await Promise.all([place.program, place.launcher].map(isAlive));
  if (same.includes(false)) throw new ExecRefused(`instance ${place.id} has ended`);
  const namespaces = opened.map(([name, fd]) => [name, `/proc/${process.pid}/fd/${fd}`] as const);
  const become = spec.terminal ? [...ON_TERMINAL, TERMINAL_TYPE + BECOME, "/dev/null"] : ["/bin/sh", "-c", BECOME];
  const seccomp = sandbox?.filter === undefined ? undefined : SECCOMP_FD;
  const inside = sandbox ? enterSandbox([...dropTo(user!), ...become], { ...sandbox, namespaces, seccomp }) : become;
  const steps = (sandbox ? SANDBOX_STEPS : 0) + (spec.terminal ? TERMINAL_STEPS : 0);
  const given = new Map([
    [VARIABLES_FD, variables],
    ...(seccomp === undefined ? [] : [[seccomp, files.open(sandbox!.filter!, "r")] as const]),
    [COMMAND_FD, files.nameless(commandText(spec, place.folder), user, `${tools.prefix}${place.id}-exec`)],
  ]);
  const child = await start(
    ["/bin/sh", SCRIPT, place.kept, String(place.launcher.pid), place.cgroups.join(":"), String(steps), ...inside],
    given,
    files,
  );
  const until = entered.move();
  child.once("exit", () => until.dispose());
  const beside = async (cmd: readonly string[]) => {
    const { exit, stdout, stderr } = await execInside(tools, place, { cmd });
    for (const output of [stdout, stderr]) output.resume();
    await exit;
  };
  const terminal = spec.terminal !== undefined;
  return new HostExecution(child, { clock: tools.clock, callerFd: CALLER_FD, become: BECOME, steps, terminal, beside });
}

/**
 * The instance's user is the owner of the variables' file. The server set it before it started the program, and nobody inside can change
 * it.
 */
async function userOf(variables: number): Promise<number> {
  const { uid } = await stat(`/proc/self/fd/${variables}`);
  if (!isInstanceUser(uid)) throw new ExecRefused(`the instance runs as user ${uid}, which is none of its own`);
  return uid;
}

/** The sandbox is complete only after the program has given up its privileges. A process that entered earlier would see the machine. */
async function dropped({ id, program }: ExecPlace, user: number, clock: Clock): Promise<void> {
  const isDropped = async () =>
    new RegExp(`^Uid:\\t${user}\\t${user}\\t`, "m").test((await readProcess(program.pid, "status")) ?? "");
  while (!(await isDropped())) {
    if (!(await isAlive(program))) throw new ExecRefused(`instance ${id} has ended`);
    await sleep(clock, LOOK_AGAIN_MS);
  }
}

/** The text that a shell reads to become the program. It is not passed on a command line, since variables are secrets. */
function commandText({ cmd, env = {}, cwd, terminal }: ExecSpec, folder: string): string {
  const size = terminal ? `stty rows ${terminal.rows} columns ${terminal.columns}\n` : "";
  const close = `${VARIABLES_FD}<&- ${COMMAND_FD}<&-`;
  return `${size}${environmentText(env)}cd -- ${quoted(cwd ?? folder)} || exit 126\nexec "$@" ${cmd.map(quoted).join(" ")} ${close}\n`;
}

/**
 * Starts from this process, since only it can hold the other end of the program's streams. A server with much memory takes some 40 ms to
 * copy.
 */
async function start(
  command: readonly string[],
  given: ReadonlyMap<number, number>,
  files: Descriptors,
): Promise<ChildProcess> {
  const inherited = await inheritedDescriptors();
  const nowhere = files.open("/dev/null", "r");
  const length = Math.max(CALLER_FD, ...inherited) + 1;
  const stdio = Array.from({ length }, (_, fd) => {
    if (fd < 3 || fd === CALLER_FD) return "pipe" as const;
    return given.get(fd) ?? (inherited.includes(fd) ? nowhere : "ignore");
  });
  const child = spawn(command[0]!, command.slice(1), { detached: true, cwd: "/", env: TOOL_ENVIRONMENT, stdio });
  // The caller's awaits receive their own errors. This listener covers the time before and after.
  child.on("error", () => {});
  await once(child, "spawn");
  return child;
}
