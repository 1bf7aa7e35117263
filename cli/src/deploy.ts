/** `millrace deploy`: makes an endpoint of a folder or an image, or a new release of it, and waits for its first worker. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { Endpoint } from "@millrace/platform/resources/endpoints/model.ts";
import { endpointOperations } from "@millrace/platform/resources/endpoints/operations.ts";
import { workerOperations } from "@millrace/platform/resources/workers/operations.ts";
import { Command } from "commander";
import { anyGpu } from "./any-gpu.ts";
import { ApiClient } from "./api.ts";
import { configSchema, type DeployConfig, type EndpointFields, readDeployConfig } from "./deploy/config.ts";
import { firstWorker } from "./deploy/rollout.ts";
import { programOf } from "./dev/program.ts";
import { findProject } from "./dev/project.ts";
import { wrongUse } from "./failure.ts";
import { addFlags, bodyFrom, flagsOf, type Schema } from "./flags.ts";
import { collect, parseCount, variablesIn } from "./parsing.ts";
import { type TargetOptions, withTarget } from "./profiles.ts";
import { type Shell, writeLine } from "./shell.ts";

interface Options extends TargetOptions {
  config?: string;
  gpu?: number;
  envFile?: string[];
  wait: boolean;
  within: number;
  schema?: boolean;
  json?: boolean;
}

/** A folder is read when a worker starts. A change of it is a new release, so that workers with old code are replaced. */
const DEPLOYED = "MILLRACE_DEPLOYED_AT";
const SMALL_CPU = [{ id: "cpu3c", vcpuCount: 2 }];
const WAIT_S = 600;
const MOST_S = 86_400;
const PAGE = 100;

const flags = flagsOf(Endpoint.create as Schema);

export function deployCommand(shell: Shell): Command {
  const command = withTarget(
    new Command("deploy")
      .description("make an endpoint of a folder or an image, or a new release of it")
      .argument("[folder or image]", "a folder of the server's machine, or an image; default: this folder")
      .option("--config <file>", "fields of the endpoint; default: millrace.yaml in the folder")
      .option("--gpu <n>", "GPUs of each worker; short for --gpu.count", parseCount(1, 1024))
      .option("--env-file <file>", "file with variables, one NAME=value a line; can be repeated", collect)
      .option("--no-wait", "do not wait for the first worker")
      .option("--within <seconds>", "how long to wait for it", parseCount(1, MOST_S), WAIT_S)
      .option("--schema", "print the JSON Schema of millrace.yaml, and deploy nothing")
      .option("--json", "print JSON"),
  );
  addFlags(command, flags);
  return command
    .addHelpText("after", "\nExample:\n  millrace deploy . --gpu 1 --workers.max 5")
    .action(async (named: string | undefined, options: Options) => {
      if (options.schema) return writeLine(shell.stdout, JSON.stringify(configSchema(), null, 2));
      const say = (text: string) => options.json || writeLine(shell.stdout, text);
      const given = await fieldsFor(named, options, shell, say);
      const api = await ApiClient.open(options, shell.env);
      const fields = await withGpuType(api, given);
      const { endpoint, isNew } = await apply(api, fields);
      const { id, name } = endpoint;
      const release = await releaseOf(api, id);
      say(`${isNew ? "created" : "updated"} ${name} (${id}), release ${release}`);
      await prove(api, endpoint, options, shell, say);
      const url = `${api.target.url}/v2/${id}`;
      writeLine(shell.stdout, options.json ? JSON.stringify({ id, name, release, created: isNew, url }) : url);
    });
}

/** A deployment is good once a worker runs. */
async function prove(
  api: ApiClient,
  endpoint: Endpoint,
  { wait, within }: Options,
  shell: Shell,
  say: (text: string) => void,
): Promise<void> {
  const { workers } = endpoint;
  if (workers.max === 0) say("it is paused: the most workers are 0");
  if (workers.max === 0 || !wait) return;
  const { clock } = shell;
  const begun = clock.monotonic();
  const waiting = { api, clock, signal: shell.interrupted(), say, withinMs: within * 1000 };
  const worker = await firstWorker({ ...waiting, endpoint });
  say(`worker ${worker.id} is ready after ${((clock.monotonic() - begun) / 1000).toFixed(1)} s`);
}

/** Flags come before the file, and the file before what the folder or the image says. */
async function fieldsFor(
  named: string | undefined,
  options: Options,
  shell: Shell,
  say: (text: string) => void,
): Promise<EndpointFields> {
  const isFolder = named === undefined || existsSync(named);
  const config = await readDeployConfig(resolve(isFolder ? (named ?? ".") : "."), configOf(options, isFolder));
  const found = isFolder ? await folderFields(named, config, shell, say) : imageFields(named);
  const env = { ...found.env, ...config.fields.env, ...(await variablesIn(options.envFile)) };
  const base = { ...found, ...config.fields, ...(Object.keys(env).length > 0 && { env }) };
  const said = { ...options, ...(options.gpu && { "gpu.count": options.gpu }) } as Record<string, unknown>;
  const given = said.env as Record<string, string> | undefined;
  const body = bodyFrom(flags, given ? { ...said, env: { ...env, ...given } } : said, base) as EndpointFields;
  const hasCompute = ["gpu", "cpu", "templateId"].some((field) => field in body);
  return hasCompute ? body : { ...body, cpu: SMALL_CPU };
}

/** An image has no folder, so a file counts only if it is named. */
const configOf = ({ config }: Options, isFolder: boolean) => config ?? (isFolder ? undefined : "/dev/null");

async function folderFields(
  named: string | undefined,
  { handler, fields }: DeployConfig,
  { env, clock }: Shell,
  say: (text: string) => void,
): Promise<EndpointFields> {
  if ("image" in fields) return {};
  const project = await findProject(handler === undefined ? named : resolve(named ?? ".", handler));
  const program = await programOf(project, env);
  if (program.readable.length > 0)
    say(`the server must show the Python to its programs: MILLRACE_HOST_READABLE=${program.readable.join(":")}`);
  return {
    name: project.name,
    image: `host:${project.folder}`,
    cmd: program.cmd,
    env: { ...program.env, [DEPLOYED]: String(clock.now()) },
  };
}

/** The last part of an image's path, without tag and digest, is the endpoint's name. */
function imageFields(image: string): EndpointFields {
  const name = image.split("/").at(-1)!.split(/[:@]/)[0];
  if (!name) throw wrongUse(`'${image}' is neither a folder here nor an image`);
  return { name, image };
}

/** A number of GPUs alone means any type, unless a template or the endpoint that exists says which. */
async function withGpuType(api: ApiClient, fields: EndpointFields): Promise<EndpointFields> {
  const gpu = fields.gpu as Record<string, unknown> | undefined;
  if (!gpu || gpu.pools || gpu.id) return fields;
  const known = await findByName(api, fields.name);
  return known?.gpu ? fields : { ...fields, gpu: { ...(await anyGpu(api)), ...gpu } };
}

async function apply(api: ApiClient, body: EndpointFields) {
  const known = await findByName(api, body.name);
  if (!known) return { endpoint: await api.call(endpointOperations.createEndpoint, { body }), isNew: true };
  const { type, ...changes } = body;
  const isSame = type === undefined || type === known.type;
  const update = { params: { id: known.id }, body: isSame ? changes : body };
  return { endpoint: await api.call(endpointOperations.updateEndpoint, update), isNew: false };
}

/** Two endpoints of one name are an accident, and nobody can know which is meant. */
async function findByName(api: ApiClient, name: string | undefined) {
  const found = [];
  for (let cursor: string | undefined; ; ) {
    const { endpoints, pagination } = await api.call(endpointOperations.listEndpoints, {
      query: { limit: PAGE, cursor },
    });
    found.push(...endpoints.filter((endpoint) => endpoint.name === name));
    cursor = (pagination as { nextCursor?: string | null }).nextCursor ?? undefined;
    if (cursor === undefined) break;
  }
  if (found.length > 1)
    throw wrongUse(
      `${found.length} endpoints are named '${name}': rename or delete all but one of ${found.map(({ id }) => id).join(", ")}`,
    );
  return found[0];
}

async function releaseOf(api: ApiClient, id: string): Promise<number | undefined> {
  const { endpointVersion } = await api.call(workerOperations.listEndpointWorkers, { params: { id } });
  return endpointVersion ?? undefined;
}
