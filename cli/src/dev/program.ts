/** Decides how a handler is run on this machine. */
import { stat } from "node:fs/promises";
import { join } from "node:path";
import type { Environment } from "../shell.ts";
import { isPython, type Project } from "./project.ts";
import { type Program, pythonProgram } from "./python.ts";

const OTHERS_READ = 0o004;

export async function programOf(project: Project, env: Environment): Promise<Program> {
  await refuseUnreadable(project);
  return isPython(project) ? pythonProgram(project, env) : nodeProgram(project);
}

/** Node runs TypeScript as it is. The sandbox has the worker library, so the project need not install it. */
function nodeProgram({ handler }: Project): Program {
  return {
    cmd: ["node", "--disable-warning=ExperimentalWarning", handler],
    readable: [],
    env: {},
    about: `Node ${process.versions.node}`,
  };
}

/** Programs of a server that runs as root have a user of their own, who must be able to read the files. */
async function refuseUnreadable({ folder, handler }: Project): Promise<void> {
  if (process.getuid?.() !== 0) return;
  const file = join(folder, handler);
  if (((await stat(file)).mode & OTHERS_READ) !== 0) return;
  throw new Error(`programs run as a user of their own, who cannot read ${file}: chmod -R o+rX ${folder}`);
}
