/** Makes the verbs of a group from its operations: arguments from paths, flags from schemas, and answers as tables, facts or JSON. */
import { Command } from "commander";
import { ApiClient, type Called } from "./api.ts";
import { askHidden, confirmed, textFrom } from "./ask.ts";
import { EXIT, Failure, Refusal, wrongUse } from "./failure.ts";
import { addFlags, bodyFrom, type FieldFlag, flagsOf, inFlags, kebab, type Schema } from "./flags.ts";
import type { AnyOperation, DerivedVerb, Group } from "./groups.ts";
import { byIdOrName, listed } from "./names.ts";
import { type TargetOptions, withTarget } from "./profiles.ts";
import { type Shell, writeLine } from "./shell.ts";
import { printAnswer, type Shown, watched } from "./show.ts";

/** What a verb needs to know of an operation, whichever kind of table it stands in. */
interface Shape extends Called {
  summary: string;
  description: string;
  query: Schema | undefined;
  body: Schema | undefined;
  answer: Schema | undefined;
  isStream: boolean;
}

const JSON_MEDIA = "application/json";

function shapeOf(operation: AnyOperation): Shape {
  const { method, path, summary, description = "", query } = operation;
  const common = { method, path, summary, description, query: query as Schema | undefined };
  if (!("answers" in operation)) {
    const { in: body, out, events } = operation as { in?: Schema; out?: Schema; events?: Schema };
    return { ...common, body, answer: out, isStream: events !== undefined };
  }
  const body = operation.body?.content[JSON_MEDIA]?.schema as Schema | undefined;
  const answer = operation.answers[200]?.content?.[JSON_MEDIA]?.schema as Schema | undefined;
  return { ...common, body, answer, isStream: false };
}

/** Where one of its verbs is asked for, the others are there by name alone: making all flags takes longer than the request. */
export async function groupCommand(group: Group, shell: Shell, asked?: string): Promise<Command> {
  const operations = await group.operations();
  const command = new Command(group.name).description(group.about);
  const isDerived = group.verbs.some(({ verb }) => verb === asked);
  for (const verb of group.verbs) {
    const isNeeded = !isDerived || verb.verb === asked;
    const made = isNeeded ? verbCommand(group, verb, operations, shell) : new Command(verb.verb);
    command.addCommand(made, { isDefault: verb.verb === group.standard });
  }
  if (isDerived) return command;
  for (const made of (await group.more?.(shell)) ?? [])
    command.addCommand(made, { isDefault: made.name() === group.standard });
  return command;
}

const PARAMETER = /\{(\w+)\*?\}/g;

const parametersOf = (path: string) => [...path.matchAll(PARAMETER)].map((match) => match[1]!);

const labelOf = (parameter: string, { one }: Group, { of = one }: DerivedVerb) =>
  parameter === "id" ? of : kebab(parameter.replace(/_?[iI]d$/, "")).replaceAll("_", "-");

interface Options extends TargetOptions {
  json?: boolean;
  quiet?: boolean;
  columns?: string;
  watch?: string | true;
  limit?: number;
  jsonBody?: string;
  yes?: boolean;
}

interface Made {
  group: Group;
  verb: DerivedVerb;
  shape: Shape;
  parameters: string[];
  flags: FieldFlag[];
  queryFlags: FieldFlag[];
  /** The list in which the first parameter is looked up by name. */
  names: () => Promise<Called | undefined>;
  shell: Shell;
}

function verbCommand(group: Group, verb: DerivedVerb, operations: Record<string, AnyOperation>, shell: Shell): Command {
  const shape = shapeOf(operations[verb.operation]!);
  const parameters = parametersOf(shape.path);
  const { cursor: _, ...asked } = shape.query?.properties ?? {};
  const said = Object.keys(verb.set ?? {});
  const fields = Object.entries(shape.body?.properties ?? {}).filter(([name]) => !said.includes(name));
  const flags = flagsOf({ properties: Object.fromEntries(fields) });
  const queryFlags = flagsOf({ properties: asked });
  const names = () => listFor(shape.path, operations);
  const made: Made = { group, verb, shape, parameters, flags, queryFlags, names, shell };
  const command = new Command(verb.verb).description(summaryOf(verb, shape));
  for (const [at, parameter] of parameters.entries()) {
    const label = labelOf(parameter, group, verb);
    const isMany = takesMany(made) && at === parameters.length - 1;
    command.argument(`<${label}${isMany ? "..." : ""}>`, `id${at === 0 ? " or name" : ""} of the ${label}`);
  }
  addFlags(command, flags);
  addFlags(command, queryFlags);
  if (shape.body && said.length === 0)
    command.option(
      "--json-body <file>",
      "the whole body as JSON, from a file or '-' for standard input; flags change it",
    );
  if (verb.loses) command.option("--yes", "do not ask");
  addOutputFlags(command, shape);
  const about = shape.description ? `\n${shape.description}\n` : "";
  return withTarget(command)
    .addHelpText(
      "after",
      `${about}\nExample:\n  millrace ${[group.name, verb.verb, verb.example].filter(Boolean).join(" ")}`,
    )
    .action((...given: unknown[]) =>
      perform(made, given.slice(0, -2) as (string | string[])[], given.at(-2) as Options),
    );
}

function summaryOf({ set }: DerivedVerb, { summary }: Shape): string {
  const words = typeof set?.action === "string" ? `${set.action} what is named` : summary;
  return words.charAt(0).toLowerCase() + words.slice(1);
}

function addOutputFlags(command: Command, { answer, method, isStream }: Shape): void {
  command.option("--json", isStream ? "one JSON document a line" : "print JSON");
  if (isStream || !answer) return;
  command.option("-q, --quiet", "print ids alone");
  if (listIn(answer)) command.option("--columns <names>", "the columns of the table, with commas between");
  if (method === "GET")
    command.option("--watch [seconds]", "show it again and again until Ctrl-C; every 2 s by default");
}

/** Deletions and actions take several ids at once. */
const takesMany = ({ verb, shape, parameters }: Pick<Made, "verb" | "shape" | "parameters">) =>
  parameters.length > 0 && (shape.method === "DELETE" || verb.set !== undefined);

/** The operation that lists the things of a path's first parameter. */
async function listFor(path: string, operations: Record<string, AnyOperation>): Promise<Called | undefined> {
  const above = path.slice(0, path.indexOf("/{"));
  if (above === "/v2")
    return (await import("@millrace/platform/resources/endpoints/operations.ts")).endpointOperations.listEndpoints;
  return Object.values(operations).find((one) => one.path === above && one.method === "GET");
}

async function perform(made: Made, given: (string | string[])[], options: Options): Promise<void> {
  const { verb, shell } = made;
  const last = given.at(-1);
  const many = Array.isArray(last) ? last : undefined;
  const first = many ? given.slice(0, -1) : given;
  if (verb.loses) await confirmed(shell, `${verb.verb} ${given.flat().join(" ")}: ${verb.loses}`, options.yes);
  const api = await ApiClient.open(options, shell.env);
  const body = await bodyOf(made, options);
  const runs = many ? many.map((id) => [...first, id]) : [first];
  const failures: Failure[] = [];
  for (const words of runs) {
    try {
      await performOne(made, api, words as string[], body, options).catch(sayFlags);
    } catch (error) {
      if (runs.length === 1 || !(error instanceof Failure)) throw error;
      writeLine(shell.stderr, `millrace: ${words.at(-1)}: ${error.message}`);
      failures.push(error);
    }
  }
  if (failures.length > 0) throw new Failure(`${failures.length} of ${runs.length} failed`, failures[0]!.exitCode);
}

/** Fields that the server finds wrong are named as flags. */
function sayFlags(error: unknown): never {
  if (!(error instanceof Refusal) || error.errors.length === 0) throw error;
  throw new Refusal(error.message, { ...error, errors: error.errors.map(inFlags) });
}

async function performOne(made: Made, api: ApiClient, words: string[], body: unknown, options: Options): Promise<void> {
  const { shape, parameters, names, verb, shell } = made;
  const query = queryOf(made, options);
  const ask = async (first: string | undefined) => {
    const values = first === undefined ? words : [first, ...words.slice(1)];
    const params = Object.fromEntries(parameters.map((name, at) => [name, values[at]!]));
    if (shape.isStream) return followEvents(made, api, params);
    if (shape.query?.properties?.cursor) {
      const { limit } = options;
      const asked = limit === undefined ? query : { ...query, limit: Math.min(limit, LARGEST_PAGE) };
      return listed(api, shape, { params, query: asked, ...(limit !== undefined && { limit }) });
    }
    return api.call(shape, { params, query, body });
  };
  const read = async () => (words[0] === undefined ? ask(undefined) : byIdOrName(api, await names(), words[0], ask));
  const shown: Shown = {
    ...{ shell, options, schema: shape.answer, list: listIn(shape.answer), columns: columnsFor(verb, options) },
    done: `${words.at(-1) ?? ""}: ${DONE[verb.verb] ?? `${verb.verb} done`}`,
    id: words.at(-1),
  };
  if (options.watch !== undefined) await watched(shown, options.watch, read);
  else if (shape.isStream) await read();
  else printAnswer(shown, await read());
}

const LARGEST_PAGE = 1000;
const DONE: Record<string, string> = { delete: "deleted", revoke: "revoked", uninvite: "withdrawn" };

const columnsFor = ({ columns }: DerivedVerb, options: Options) => options.columns?.split(",") ?? columns;

/** The key of the records in the answer of a listing: the only array of objects in it. */
function listIn(answer: Schema | undefined): string | undefined {
  const arrays = Object.entries(answer?.properties ?? {}).filter(
    ([, { type, items }]) => type === "array" && items?.properties,
  );
  const isRecord = answer?.properties?.id !== undefined || answer?.properties?.status !== undefined;
  return arrays.length === 1 && !isRecord ? arrays[0]![0] : undefined;
}

function queryOf({ queryFlags, shape }: Made, options: Options): Record<string, unknown> {
  const values = options as unknown as Record<string, unknown>;
  const query = (bodyFrom(queryFlags, values, {}) ?? {}) as Record<string, unknown>;
  // A list in a query is one value with commas.
  for (const [name, value] of Object.entries(query)) if (Array.isArray(value)) query[name] = value.join(",");
  if (shape.query?.properties?.cursor) delete query.limit;
  return query;
}

async function bodyOf({ shape, flags, verb, shell }: Made, options: Options): Promise<unknown> {
  if (!shape.body) return undefined;
  const values = { ...(options as unknown as Record<string, unknown>) };
  const secrets = await secretsFrom(flags, values, shape.body, shell, options.jsonBody === undefined);
  const base = options.jsonBody === undefined ? undefined : await jsonFrom(options.jsonBody, shell);
  const plain = flags.filter(({ isSecret }) => !isSecret);
  const body = bodyFrom([...plain, ...secrets.flags], { ...values, ...secrets.values }, verb.set ?? base) ?? {};
  const errors = base === undefined ? missingIn(shape.body, body) : await faultsIn(shape.body, body);
  if (errors.length > 0) throw wrongUse("the server would refuse this", { errors: errors.map(inFlags) });
  return body;
}

/** Flags have checked each value. Loading the validator for the rest would take longer than the request, and the server checks all of it. */
function missingIn({ required = [], minProperties = 0 }: Schema, body: object): string[] {
  if (Object.keys(body).length < minProperties) return ["name at least one thing to change"];
  return required.filter((name) => !(name in body)).map((name) => `$: property '${name}' is required`);
}

async function faultsIn(schema: Schema, body: unknown): Promise<string[]> {
  const { failures } = await import("@millrace/platform/kernel/validate.ts");
  return failures(schema as never, body);
}

/** Values that nobody may see are read from files, or asked for where there is a terminal. */
async function secretsFrom(
  flags: readonly FieldFlag[],
  values: Record<string, unknown>,
  { required = [] }: Schema,
  shell: Shell,
  mayAsk: boolean,
): Promise<{ flags: FieldFlag[]; values: Record<string, unknown> }> {
  const secrets = flags.filter(({ isSecret }) => isSecret);
  const read: Record<string, unknown> = {};
  for (const { path, option } of secrets) {
    const name = path.replace(/File$/, "");
    const file = values[path] as string | undefined;
    if (file !== undefined) read[name] = (await textFrom(file, shell.stdin)).replace(/\r?\n$/, "");
    else if (mayAsk && required.includes(name))
      read[name] = await askHidden(shell, `${name}: `, `name a file by ${option.long}`);
  }
  return { flags: secrets.map((flag) => ({ ...flag, path: flag.path.replace(/File$/, "") })), values: read };
}

async function jsonFrom(file: string, shell: Shell): Promise<unknown> {
  const text = await textFrom(file, shell.stdin);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw wrongUse(`${file === "-" ? "standard input" : file} is not JSON: ${(error as Error).message}`);
  }
}

/** Prints events as they come, one a line, until the server or the person ends it. */
async function followEvents({ shape, shell }: Made, api: ApiClient, params: Record<string, string>): Promise<void> {
  const signal = shell.interrupted();
  const path = shape.path.replace(PARAMETER, (_, name: string) => encodeURIComponent(params[name]!));
  try {
    for await (const { data } of api.events(path, { signal })) writeLine(shell.stdout, JSON.stringify(data));
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  if (signal.aborted) shell.exit(EXIT.interrupted);
}
