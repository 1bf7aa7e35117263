/** `millrace import`: carries an account of the hosted service, or of another Millrace, over to a server by its documented API. */
import { catalogOperations } from "@millrace/platform/resources/catalog/operations.ts";
import { Command, InvalidArgumentError, Option } from "commander";
import { ApiClient } from "./api.ts";
import { askHidden, confirmed } from "./ask.ts";
import { Progress, sizeText } from "./copy.ts";
import { EXIT, wrongUse } from "./failure.ts";
import { applyStep, readHere } from "./import/apply.ts";
import { type Account, type Definition, type Fields, type Kind, kinds, shown } from "./import/definition.ts";
import { copyFiles, type Difference, filesToCopy } from "./import/files.ts";
import { type Here, planned, type Step } from "./import/plan.ts";
import type { Bucket } from "./import/s3.ts";
import { Source, type Version } from "./import/source.ts";
import { Values } from "./import/values.ts";
import { baseUrl, checkedKey, keyIn, type TargetOptions, withTarget } from "./profiles.ts";
import { type Shell, writeLine } from "./shell.ts";
import { printTable, tableLines } from "./table.ts";

interface Options extends TargetOptions {
  fromKeyFile?: string;
  api?: Version;
  only?: Kind[];
  dataCenter?: string;
  values?: string;
  s3Endpoint?: string;
  plan?: boolean;
  yes?: boolean;
  json?: boolean;
}

export function importCommand(shell: Shell): Command {
  const command = new Command("import")
    .description("carry templates, endpoints, Pods, volumes and credentials over from another server")
    .argument(
      "<url>",
      "where the source is, such as https://gpu.example.com; an address that ends with /v1 is read by REST v1",
    )
    .option(
      "--from-key-file <file>",
      "file with an API key of the source (or MILLRACE_IMPORT_KEY); else it is asked for",
    )
    .addOption(
      new Option("--api <version>", "which API of the source to read; default: v2, else v1").choices(["v1", "v2"]),
    )
    .option("--only <kinds>", `comma-separated, of ${kinds.join(", ")}`, parseKinds)
    .option("--data-center <id>", "put everything into this data center, whatever the source says")
    .option(
      "--values <file>",
      "JSON with the values of secrets and registries, which no API returns; '-' is standard input",
    )
    .option(
      "--s3-endpoint <url>",
      "S3 API of the source, {dataCenter} in it stands for the volume's; default: /s3 of the source",
    )
    .option("--plan", "show what would be done, and do nothing")
    .option("-y, --yes", "do it without asking")
    .option("--json", "print JSON");
  return withTarget(command)
    .addHelpText("after", "\nExample:\n  millrace import https://gpu.example.com --from-key-file key.txt --plan")
    .action((url: string, options: Options) => runImport(shell, url, options));
}

function parseKinds(text: string): Kind[] {
  const words = text.split(",").map((word) => word.trim());
  const unknown = words.find((word) => !kinds.includes(word as Kind));
  if (unknown !== undefined) throw new InvalidArgumentError(`'${unknown}' is none of ${kinds.join(", ")}`);
  return words as Kind[];
}

interface Import {
  shell: Shell;
  options: Options;
  api: ApiClient;
  source: Source;
  account: Account;
  here: Here;
  values: Values;
}

async function runImport(shell: Shell, url: string, options: Options): Promise<void> {
  const api = await ApiClient.open(options, shell.env);
  const key = await sourceKey(shell, url, options);
  const source = new Source({
    url: baseUrl(url),
    key,
    clock: shell.clock,
    version: options.api,
    only: options.only ?? kinds,
  });
  if (source.url === api.target.url && key === api.target.key)
    throw wrongUse("the source and the target are the same account: name the target by --profile or --url");
  const { gpus } = await api.call(catalogOperations.listGpuTypes);
  const account = inDataCenter(await source.account(gpus), options.dataCenter);
  const here = await readHere(api);
  const values = await Values.open(shell, options.values);
  const at: Import = { shell, options, api, source, account, here, values };
  const steps = planned(account, here, options.only ?? kinds).map((step) => withValue(step, values));
  const files = await filesOf(at, steps);
  await carryOver(at, steps, files);
}

async function sourceKey({ env, ...shell }: Shell, url: string, { fromKeyFile }: Options): Promise<string> {
  if (fromKeyFile !== undefined) return checkedKey(await keyIn(fromKeyFile, "--from-key-file"), fromKeyFile);
  if (env.MILLRACE_IMPORT_KEY) return checkedKey(env.MILLRACE_IMPORT_KEY, "MILLRACE_IMPORT_KEY");
  const instead = "name a file with a key of the source by --from-key-file, or set MILLRACE_IMPORT_KEY";
  return checkedKey((await askHidden(shell, `API key of ${url}: `, instead)).trim(), "the terminal");
}

function inDataCenter({ definitions, unreadable }: Account, dataCenter: string | undefined): Account {
  if (dataCenter === undefined) return { definitions, unreadable };
  const moved = (body: Fields): Fields => ({
    ...body,
    ...("dataCenter" in body && { dataCenter }),
    ...("dataCenterIds" in body && { dataCenterIds: [dataCenter] }),
  });
  return { definitions: definitions.map((one) => ({ ...one, body: moved(one.body) })), unreadable };
}

/** Without a value nothing is created, and the plan says so. */
function withValue(step: Step, values: Values): Step {
  const needsValue = step.action === "create" && (step.kind === "secrets" || step.kind === "registries");
  if (!needsValue || values.has(step.definition!)) return step;
  return { ...step, action: "left", why: "no API returns its value: give it by --values, or run this in a terminal" };
}

interface VolumeFiles {
  name: string;
  volume: Definition;
  bucket: Bucket;
  difference: Difference;
}

/** Without keys for S3 no files are read. A volume that is left, or differs, gets none. */
async function filesOf({ shell, options, api, source }: Import, steps: readonly Step[]): Promise<VolumeFiles[]> {
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = shell.env;
  if (!accessKeyId || !secretAccessKey) return [];
  const endpoint = options.s3Endpoint ?? `${source.url}/s3`;
  if (!URL.canParse(endpoint.replaceAll("{dataCenter}", "x")))
    throw wrongUse(`'${endpoint}', named by --s3-endpoint, is no address such as https://s3.example.com`);
  const found: VolumeFiles[] = [];
  for (const { kind, name, action, definition, here } of steps) {
    if (kind !== "volumes" || (action !== "create" && action !== "same")) continue;
    const { id } = definition!;
    const dataCenter = String(source.dataCenterOf(id));
    const bucket = { endpoint, keys: { accessKeyId, secretAccessKey }, bucket: id, dataCenter, clock: shell.clock };
    found.push({ name, volume: definition!, bucket, difference: await filesToCopy(api, bucket, here) });
  }
  return found;
}

async function carryOver(at: Import, steps: readonly Step[], files: readonly VolumeFiles[]): Promise<void> {
  const { shell, options, api, source } = at;
  const todo = steps.filter(({ action }) => action === "create" || action === "finish");
  const toCopy = files.filter(({ difference }) => difference.toCopy.length > 0);
  const left = steps.filter(({ action }) => action === "left").length;
  if (!options.json) printPlan(at, steps, files);
  if (options.plan || (todo.length === 0 && toCopy.length === 0)) {
    if (options.json) printJson(at, steps, files);
    else if (!options.plan) writeLine(shell.stdout, "nothing to do: all that can be carried over is here");
    return shell.exit(left > 0 && !options.plan ? EXIT.failed : 0);
  }
  await confirmed(shell, `this changes ${api.target.url}, and nothing at ${source.url}`, options.yes);
  const failed = await apply(at, todo, toCopy);
  if (options.json) printJson(at, steps, files, failed);
  else writeLine(shell.stdout, summary(todo.length, left, failed));
  shell.exit(failed.length + left > 0 ? EXIT.failed : 0);
}

const summary = (todo: number, left: number, failed: readonly Fault[]) =>
  failed.length + left === 0
    ? `done: ${todo} made`
    : `made ${todo - failed.filter(({ kind }) => kind !== "files").length} of ${todo}, left out ${left}; fix what is listed above and run the same command again`;

interface Fault {
  kind: string;
  name: string;
  why: string;
}

/** Files come before endpoints, so that the first worker finds them. */
async function apply(at: Import, todo: readonly Step[], files: readonly VolumeFiles[]): Promise<Fault[]> {
  const faults: Fault[] = [];
  const isBefore = ({ kind }: Step) => kind === "secrets" || kind === "registries" || kind === "volumes";
  await applyAll(at, todo.filter(isBefore), faults);
  for (const one of files) await applyFiles(at, one, faults);
  await applyAll(
    at,
    todo.filter((step) => !isBefore(step)),
    faults,
  );
  return faults;
}

async function applyAll(at: Import, steps: readonly Step[], faults: Fault[]): Promise<void> {
  const { api, here, values, account } = at;
  for (const step of steps) {
    const outcome = await applyStep({ api, here, values, all: account.definitions }, step);
    const { kind, name } = step;
    if (outcome.done) say(at, `made ${kind} ${shown(name)}`);
    else fail(at, faults, { kind, name, why: outcome.why });
  }
}

async function applyFiles(at: Import, { name, bucket, difference }: VolumeFiles, faults: Fault[]): Promise<void> {
  const { api, here, shell } = at;
  const target = here.volumes.find((volume) => volume.name === name)?.id;
  if (target === undefined) return fail(at, faults, { kind: "files", name, why: "the volume is not here" });
  const progress = new Progress(shell);
  const done = await copyFiles({ api, bucket, target: String(target), progress }, difference.toCopy);
  say(at, `copied ${done.copied} files (${sizeText(progress.bytes)}) to volume ${shown(name)}`);
  for (const why of done.faults) fail(at, faults, { kind: "files", name, why });
  if (done.failed > done.faults.length)
    fail(at, faults, { kind: "files", name, why: `and ${done.failed - done.faults.length} more` });
}

function say({ shell, options }: Import, text: string): void {
  if (!options.json) writeLine(shell.stdout, text);
}

function fail(at: Import, faults: Fault[], fault: Fault): void {
  faults.push(fault);
  say(at, `left out ${fault.kind} ${shown(fault.name)}: ${shown(fault.why)}`);
}

const WORDS: Record<Step["action"], string> = {
  create: "create",
  finish: "finish what was begun",
  same: "is here already",
  differs: "differs here",
  left: "left out",
};

function printPlan(
  { shell, source, api, options }: Import,
  steps: readonly Step[],
  files: readonly VolumeFiles[],
): void {
  writeLine(shell.stdout, `from ${source.url} (REST ${source.version}) to ${api.target.url}`);
  const rows = steps.map(({ kind, name, action, why }) => ({
    kind,
    name: shown(name),
    plan: WORDS[action],
    why: why && shown(why),
  }));
  const ofFiles = files.map(({ name, difference: { toCopy, bytes, equal } }) => ({
    ...{
      kind: "files",
      name: shown(name),
      plan: toCopy.length > 0 ? `copy ${toCopy.length} (${sizeText(bytes)})` : "are here already",
    },
    why: equal > 0 && toCopy.length > 0 ? `${equal} are here already` : undefined,
  }));
  if (rows.length > 0) printTable(shell, tableLines([...rows, ...ofFiles], ["kind", "name", "plan", "why"]));
  const hasVolumes = steps.some(({ kind }) => kind === "volumes");
  if (hasVolumes && files.length === 0)
    writeLine(
      shell.stdout,
      "no files are copied: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY to an S3 key of the source",
    );
  if (steps.some(({ kind, action }) => kind === "pods" && action === "create"))
    writeLine(shell.stdout, "Pods are created stopped: start each when its program no longer runs at the source");
  if (options.plan) writeLine(shell.stdout, "this is the plan, and nothing was changed");
}

function printJson(
  { shell, source, api }: Import,
  steps: readonly Step[],
  files: readonly VolumeFiles[],
  failed: readonly Fault[] = [],
): void {
  const all = steps.map(({ kind, name, action, why }) => ({ kind, name, action, ...(why && { why }) }));
  const copies = files.map(({ name, difference: { toCopy, equal, bytes } }) => ({
    volume: name,
    copy: toCopy.length,
    equal,
    bytes,
  }));
  const said = { source: source.url, api: source.version, target: api.target.url, steps: all, files: copies, failed };
  writeLine(shell.stdout, JSON.stringify(said));
}
