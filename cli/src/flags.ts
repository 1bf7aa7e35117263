/** The flags of a verb, derived from the schema of a body or a query: names in kebab case, a dot between a group and its field. */
import { type Command, InvalidArgumentError, Option } from "commander";

/** What a flag reads of a JSON Schema. */
export interface Schema {
  type?: string;
  enum?: readonly string[];
  const?: unknown;
  anyOf?: readonly Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  patternProperties?: Record<string, Schema>;
  required?: readonly string[];
  minProperties?: number;
  default?: unknown;
  description?: string;
  format?: string;
  minimum?: number;
  maximum?: number;
  writeOnly?: boolean;
}

/** `minVcpuCount` as `min-vcpu-count`. */
export const kebab = (name: string) => name.replace(/([a-z0-9])([A-Z])/g, "$1-$2").toLowerCase();

/** A schema without `null`, and whether it allowed that. A union of objects becomes one object with the fields of all. */
function plain(schema: Schema): { schema: Schema; isNullable: boolean } {
  if (!schema.anyOf) return { schema, isNullable: schema.type === "null" };
  const forms = schema.anyOf.filter(({ type }) => type !== "null");
  const isNullable = forms.length < schema.anyOf.length;
  const { anyOf: _, ...said } = schema;
  const scalar = forms.find(({ type, properties }) => !properties && type !== "object" && type !== "array");
  if (scalar) return { schema: { ...scalar, ...said }, isNullable };
  if (!forms.every(({ properties }) => properties)) return { schema: said, isNullable };
  const properties: Record<string, Schema> = {};
  for (const form of forms)
    for (const [name, field] of Object.entries(form.properties!)) properties[name] = merged(properties[name], field);
  return { schema: { ...said, type: "object", properties }, isNullable };
}

/** The same field of two forms: one constant or another is a choice. */
function merged(before: Schema | undefined, field: Schema): Schema {
  const values = [before, field].flatMap((one) => one?.enum ?? (typeof one?.const === "string" ? [one.const] : []));
  return values.length > 0 ? { type: "string", enum: values, description: field.description ?? "" } : field;
}

export interface FieldFlag {
  /** The path of the field in the body, such as `workers.max`. It is also the key of the option. */
  path: string;
  option: Option;
  /** The second form of a switch, `--no-…`. */
  negated?: Option;
  /** Whether the value is read from a file, because every user of the machine can read a command line. */
  isSecret?: true;
}

/** One flag for each field that a flag can say. Deeper fields have a dot in their names. */
export function flagsOf(schema: Schema, path = ""): FieldFlag[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const { schema: own, isNullable } = plain(field);
    const at = path === "" ? name : `${path}.${name}`;
    const about = { ...own, description: field.description ?? own.description ?? "" };
    if (own.properties) return flagsOf(own, at);
    return [flagOf(at, about, isNullable)];
  });
}

function flagOf(path: string, schema: Schema, isNullable: boolean): FieldFlag {
  const name = path.split(".").map(kebab).join(".");
  const about = aboutOf(schema, isNullable);
  if (schema.type === "boolean" && !isNullable)
    return {
      ...{ path, option: new Option(`--${name}`, about) },
      negated: new Option(`--no-${name}`, "the opposite"),
    };
  if (schema.writeOnly)
    return {
      ...{ path: `${path}File`, option: new Option(`--${name}-file <file>`, `${about}; '-' is standard input`) },
      isSecret: true,
    };
  const option = new Option(`--${name} <${placeholderOf(schema)}>`, about);
  return { path, option: option.argParser(parserOf(schema, isNullable)) };
}

function aboutOf(schema: Schema, isNullable: boolean): string {
  const { description = "", minimum, maximum, enum: choices } = schema;
  const values = schema.type === "array" ? schema.items?.enum : choices;
  const parts = [
    description.replace(/\.$/, ""),
    values && values.length <= 12 ? `one of ${values.join(", ")}` : "",
    minimum !== undefined && maximum !== undefined ? `${minimum} to ${maximum}` : "",
    schema.type === "array" || schema.patternProperties ? "repeatable" : "",
    isNullable ? "'null' clears it" : "",
  ];
  return parts.filter(Boolean).join("; ");
}

function placeholderOf({ type, format, patternProperties, items, enum: choices }: Schema): string {
  if (patternProperties) return "key=value";
  if (type === "array") return items?.properties ? "field=value,…" : "text";
  if (choices) return "word";
  if (format === "date-time") return "time";
  return { integer: "n", number: "n", object: "json" }[type ?? ""] ?? "text";
}

type Parser = (text: string, before: unknown) => unknown;

function parserOf(schema: Schema, isNullable: boolean): Parser {
  const value = valueParser(schema);
  if (schema.type === "array") {
    const item = schema.items?.properties ? fieldsParser(schema.items) : valueParser(schema.items ?? {});
    return (text, before = []) => [...(before as unknown[]), item(text)];
  }
  if (schema.patternProperties) return (text, before = {}) => ({ ...(before as object), ...pair(schema, text) });
  return (text) => (isNullable && text === "null" ? null : value(text));
}

function valueParser({ type, enum: choices, properties, minimum, maximum }: Schema): (text: string) => unknown {
  if (choices) return (text) => oneOf(choices, text);
  if (type === "integer" || type === "number") return (text) => numeric(text, { type, minimum, maximum });
  if (type === "boolean") return (text) => oneOf(["true", "false"], text) === "true";
  if (type === "object" || type === undefined || properties) return json;
  return (text) => text;
}

function oneOf(choices: readonly string[], text: string): string {
  if (choices.includes(text)) return text;
  throw new InvalidArgumentError(`it must be one of ${choices.join(", ")}`);
}

interface Bounds {
  type: string;
  minimum: number | undefined;
  maximum: number | undefined;
}

function numeric(text: string, { type, minimum = -Infinity, maximum = Infinity }: Bounds): number {
  const value = text.trim() === "" ? Number.NaN : Number(text);
  if (Number.isNaN(value) || (type === "integer" && !Number.isInteger(value)))
    throw new InvalidArgumentError(`it must be ${type === "integer" ? "a whole number" : "a number"}`);
  if (value < minimum || value > maximum)
    throw new InvalidArgumentError(
      `it must be ${Number.isFinite(maximum) ? `from ${minimum} to ${maximum}` : `at least ${minimum}`}`,
    );
  return value;
}

function json(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new InvalidArgumentError(`it must be JSON: ${(error as Error).message}`);
  }
}

function pair({ patternProperties = {} }: Schema, text: string): Record<string, unknown> {
  const at = text.indexOf("=");
  if (at < 1) throw new InvalidArgumentError("it must be key=value");
  const { schema, isNullable } = plain(Object.values(patternProperties)[0] ?? {});
  const value = text.slice(at + 1);
  return { [text.slice(0, at)]: isNullable && value === "null" ? null : valueParser(schema)(value) };
}

/** An object as JSON, or as `id=cpu3c,vcpuCount=2`. */
function fieldsParser(schema: Schema): (text: string) => unknown {
  return (text) => {
    if (text.startsWith("{")) return json(text);
    const fields = text.split(",").map((part) => {
      const [name = "", ...rest] = part.split("=");
      const field = schema.properties?.[name];
      if (!field || rest.length === 0)
        throw new InvalidArgumentError(
          `it must be field=value with commas between, of ${Object.keys(schema.properties ?? {}).join(", ")}`,
        );
      return [name, valueParser(plain(field).schema)(rest.join("="))];
    });
    return Object.fromEntries(fields);
  };
}

export function addFlags(command: Command, flags: readonly FieldFlag[]): void {
  for (const { option, negated } of flags) {
    command.addOption(option);
    if (negated) command.addOption(negated);
  }
}

/** The body that the flags say, over what `base` says. */
export function bodyFrom(flags: readonly FieldFlag[], values: Record<string, unknown>, base: unknown): unknown {
  const given = flags.filter(({ path }) => values[path] !== undefined);
  if (given.length === 0) return base;
  const body = structuredClone((base ?? {}) as Record<string, unknown>);
  for (const { path } of given) {
    const names = path.split(".");
    const last = names.pop()!;
    let inside = body;
    for (const name of names) {
      inside[name] ??= {};
      inside = inside[name] as Record<string, unknown>;
    }
    inside[last] = values[path];
  }
  return body;
}

/** `$.workers.max: must be <= 5` in the words of the command line: `--workers.max: must be <= 5`. */
export function inFlags(fault: string): string {
  const [, path, message = ""] = /^\$\.?([^:]*): (.*)$/s.exec(fault) ?? [];
  if (path === undefined) return fault;
  const [, missing, unless = ""] = /^property '(.+?)' is required(.*)$/.exec(message) ?? [];
  const full = missing === undefined ? path : [path, missing].filter(Boolean).join(".");
  if (full === "") return message;
  const flag = `--${full.split(".").map(kebab).join(".")}`;
  return missing === undefined ? `${flag}: ${message}` : `${flag} is required${unless}`;
}
