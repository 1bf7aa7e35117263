/** Finds the handler that a person means, and the folder of its project. */
import { existsSync } from "node:fs";
import { realpath, stat } from "node:fs/promises";
import { basename, dirname, extname, join, relative, resolve } from "node:path";
import { type EndpointFields, readDeployConfig } from "../deploy/config.ts";
import { wrongUse } from "../failure.ts";

export interface Project {
  /** The folder that programs see as `/app`. */
  folder: string;
  /** The path of the handler in that folder. */
  handler: string;
  name: string;
}

/** A folder that holds one of these is the root of a project. */
const MARKS = ["millrace.yaml", "pyproject.toml", "requirements.txt", "package.json", ".venv", "venv"];
const NAMES = ["handler", "rp_handler", "worker", "main"];
const PYTHON = ".py";
const NODE = [".ts", ".mts", ".js", ".mjs"];

export const isPython = ({ handler }: Project) => extname(handler) === PYTHON;

/** Finds the project of a handler file, or the handler of a folder. */
export async function findProject(named = "."): Promise<Project> {
  const path = await realpath(resolve(named)).catch(() => {
    throw new Error(`${named} does not exist: name a handler such as handler.py, or the folder that holds it`);
  });
  const isFolder = (await stat(path)).isDirectory();
  if (!isFolder && ![PYTHON, ...NODE].includes(extname(path)))
    throw new Error(`${named} is no handler: name a file that ends with ${[PYTHON, ...NODE].join(", ")}, or a folder`);
  const folder = isFolder ? path : projectOf(path);
  const handler = isFolder ? handlerIn(folder) : relative(folder, path);
  if (handler === undefined)
    throw new Error(`${named} holds no handler: name the file, or call it ${NAMES[0]}${PYTHON} or ${NAMES[0]}.ts`);
  return { folder, handler, name: basename(folder) || "handler" };
}

/** Finds the project, and the fields of its `millrace.yaml` that concern how its handler runs here. */
export async function configuredProject(named = "."): Promise<{ project: Project; fields: EndpointFields }> {
  const { handler } = await readDeployConfig(resolve(named));
  const project = await findProject(handler === undefined ? named : join(named, handler));
  const { fields } = await readDeployConfig(project.folder);
  const { name: _, image: __, workers: ___, templateId: ____, type, ...kept } = fields;
  if (type === "LOAD_BALANCER")
    throw wrongUse("millrace dev runs handlers of queue endpoints, and millrace.yaml says LOAD_BALANCER: use deploy");
  return { project, fields: kept };
}

/** Returns the nearest folder around a file that is marked as a project, or else the folder of the file. */
function projectOf(file: string): string {
  for (let folder = dirname(file); dirname(folder) !== folder; folder = dirname(folder))
    if (MARKS.some((mark) => existsSync(join(folder, mark)))) return folder;
  return dirname(file);
}

function handlerIn(folder: string): string | undefined {
  const names = ["", "src/"].flatMap((inside) =>
    NAMES.flatMap((name) => [PYTHON, ...NODE].map((ending) => `${inside}${name}${ending}`)),
  );
  return names.find((name) => existsSync(join(folder, name)));
}
