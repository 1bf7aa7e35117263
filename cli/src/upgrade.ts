/** `millrace upgrade`: says which version is newer and how to get it, for the way in which this one was installed. */
import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { Command } from "commander";
import { EXIT, Failure } from "./failure.ts";
import { request as ask, textOf } from "./http.ts";
import { type Shell, writeLine } from "./shell.ts";
import { VERSION } from "./version.ts";

const execute = promisify(execFile);

type Way = "npm" | "npx" | "image" | "checkout";

interface Installed {
  way: Way;
  folder: string;
}

interface Newest {
  /** A version, or the short name of a commit. */
  name: string;
  isNewer: boolean;
}

const REGISTRY = "https://registry.npmjs.org";
const LONGEST_ANSWER = 1024 * 1024;
const SILENCE_MS = 10_000;

export function upgradeCommand(shell: Shell, program = process.argv[1] ?? ""): Command {
  return new Command("upgrade")
    .description("say which version is newer, and how to get it")
    .option("-y, --yes", "get it now; a running server goes on with the old version until it is started again")
    .option("--json", "print JSON")
    .addHelpText("after", "\nExample:\n  millrace upgrade")
    .action(async ({ yes, json }: { yes?: boolean; json?: boolean }) => {
      const installed = installedAt(program, shell);
      const newest = await newestFor(installed, shell);
      const command = commandFor(installed, newest);
      if (json) writeLine(shell.stdout, JSON.stringify({ version: VERSION, ...installed, newest, command }));
      else for (const line of sentences(installed, newest, command)) writeLine(shell.stdout, line);
      if (yes && newest.isNewer) await get(shell, installed, command);
    });
}

/** Looks for the package above the file that runs, which a launcher may have built somewhere below it. */
function installedAt(program: string, { env }: Shell): Installed {
  for (let folder = dirname(program); folder !== dirname(folder); folder = dirname(folder)) {
    const name = nameIn(join(folder, "package.json"));
    if (name === "millrace-repository") return { way: "checkout", folder };
    if (name !== "millrace") continue;
    if (env.MILLRACE_INSTALLED_AS === "image") return { way: "image", folder };
    return { way: /[\\/]_npx[\\/]/.test(folder) ? "npx" : "npm", folder };
  }
  throw new Failure(
    `this is millrace ${VERSION}, and how it was installed is not known: no package of it is above ${program}`,
  );
}

function nameIn(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, "utf8")).name;
  } catch {
    return undefined;
  }
}

const newestFor = (installed: Installed, shell: Shell): Promise<Newest> =>
  installed.way === "checkout" ? newestCommit(installed.folder) : newestVersion(shell);

/** Asks the registry that npm would ask, where a variable names another. */
async function newestVersion({ env }: Shell): Promise<Newest> {
  const base = (env.npm_config_registry || REGISTRY).replace(/\/+$/, "");
  if (!URL.canParse(base)) throw new Failure(`'${base}', named by npm_config_registry, is no address`);
  try {
    const answer = await ask(new URL(`${base}/millrace/latest`), { silenceMs: SILENCE_MS });
    const text = await textOf(answer, LONGEST_ANSWER);
    if (answer.status !== 200) throw new Error(`it answered ${answer.status}`);
    const { version } = JSON.parse(text) as { version?: unknown };
    if (typeof version !== "string" || !SHAPE.test(version)) throw new Error("it answered with no version");
    return { name: version, isNewer: isNewer(version, VERSION) };
  } catch (error) {
    throw unasked(
      base,
      error as Error,
      "bring millrace-VERSION.tgz here and run 'npm install -g ./millrace-VERSION.tgz'",
    );
  }
}

async function newestCommit(folder: string): Promise<Newest> {
  // Git must not ask for a password, which nobody expects here.
  const quiet = ["-C", folder, "-c", "core.askPass=true"];
  const git = async (...args: string[]) =>
    (await execute("git", [...quiet, ...args], { timeout: 30_000 })).stdout.trim();
  try {
    const [head, branch] = [await git("rev-parse", "HEAD"), await git("rev-parse", "--abbrev-ref", "HEAD")];
    const there = (await git("ls-remote", "origin", branch === "HEAD" ? "HEAD" : `refs/heads/${branch}`)).slice(0, 40);
    if (!/^[0-9a-f]{40}$/.test(there)) throw new Error(`origin has no branch '${branch}'`);
    // Commits of one's own on top of the newest are no reason to upgrade.
    const hasIt = await git("merge-base", "--is-ancestor", there, head).then(
      () => true,
      () => false,
    );
    return { name: there.slice(0, 8), isNewer: !hasIt };
  } catch (error) {
    const [line = ""] = String((error as { stderr?: string }).stderr || (error as Error).message).split("\n");
    throw unasked(
      "the repository that this checkout came from",
      new Error(line),
      "run 'git pull' there once it can be reached",
    );
  }
}

const unasked = (whom: string, { message }: Error, otherwise: string) =>
  new Failure(
    `this is millrace ${VERSION}. Whether there is a newer one is not known: ${whom} could not be asked (${message}). ` +
      `Without the network: ${otherwise}.`,
    EXIT.failed,
  );

const SHAPE = /^\d{1,6}\.\d{1,6}\.\d{1,6}(-[\w.-]{1,64})?$/;

/** A version with a word behind it comes before the one without. */
export function isNewer(one: string, other: string): boolean {
  const parts = (version: string) => version.split("-", 1)[0]!.split(".").map(Number);
  const [mine, its] = [parts(one), parts(other)];
  const at = mine.findIndex((part, index) => part !== its[index]);
  return at >= 0 ? mine[at]! > its[at]! : !one.includes("-") && other.includes("-");
}

function commandFor({ way, folder }: Installed, { name }: Newest): string {
  const commands: Record<Way, string> = {
    npm: `npm install -g millrace@${name}`,
    npx: `npx millrace@${name} serve`,
    checkout: `git -C ${folder} pull --ff-only && npm --prefix ${folder} install --no-save${devOf(folder)}`,
    image: "docker compose pull && docker compose up -d",
  };
  return commands[way];
}

/** The first start of a checkout leaves out the packages for development. A contributor's are kept. */
const devOf = (folder: string): string => (existsSync(join(folder, "node_modules/vitest")) ? "" : " --omit=dev");

function sentences({ way, folder }: Installed, { name, isNewer }: Newest, command: string): string[] {
  const how: Record<Way, string> = {
    ...{ npm: `by npm in ${folder}`, npx: "by npx", checkout: `a checkout in ${folder}`, image: "an image" },
  };
  const own = `millrace ${VERSION}, ${how[way]}`;
  if (!isNewer) return [own, "this is the newest"];
  const after = way === "image" ? "run it where the compose file is" : "then start the server again";
  return [own, `${name} is newer: ${command}`, `${after}; the data folder is brought forward at the first start`];
}

async function get({ stderr }: Shell, { way }: Installed, command: string): Promise<void> {
  if (way === "image" || way === "npx")
    throw new Failure(
      `this cannot be done from here: run '${command}' ${way === "image" ? "outside the container" : "instead"}`,
    );
  for (const step of command.split(" && ")) {
    const [program, ...args] = step.split(" ") as [string, ...string[]];
    stderr.write(`${step} ...\n`);
    await execute(program, args, { maxBuffer: 64 * 1024 * 1024 }).catch((error: Error & { stderr?: string }) => {
      throw new Failure(`'${step}' failed: ${(error.stderr || error.message).trim().slice(-2000)}`);
    });
  }
  stderr.write("done: start the server again to use it\n");
}
