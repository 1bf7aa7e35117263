/** Validates values against schemas, and words the failures for people. */
import { createRequire } from "node:module";
import type { Ajv2020, ErrorObject, ValidateFunction } from "ajv/dist/2020.js";
import type formatsPlugin from "ajv-formats";
import { parseTimestamp } from "./clock.ts";
import { clip, clipPath, memberPath } from "./json.ts";
import { meantForm } from "./meant-form.ts";
import { problem } from "./problem.ts";
import type { Static, TSchema } from "./schema.ts";

const REPORTED_AT_MOST = 20;

/** For values larger than this, only the first failure is reported: Ajv took 28 s and 3 GB to list those of 5 million items. */
const LISTED_IN_FULL = 2000;

const require = createRequire(import.meta.url);

/** Loads Ajv when the first value is validated. Its 86 files take longer to load than everything else that a command does. */
export function loadValidation() {
  const { Ajv2020, _ } = require("ajv/dist/2020.js") as typeof import("ajv/dist/2020.js");
  const { default: formats } = require("ajv-formats") as { default: typeof formatsPlugin };
  return { Ajv2020, _, formats };
}

function createAjv(allErrors: boolean): Ajv2020 {
  const { Ajv2020, _, formats } = loadValidation();
  // Nothing is coerced, removed or filled in. With other options Ajv changes what the caller sent: {value: 5, bogus: 1} became {value: "5"}.
  const ajv = new Ajv2020({
    allErrors,
    coerceTypes: false,
    removeAdditional: false,
    useDefaults: false,
    strict: false,
    validateSchema: false,
    addUsedSchema: false,
    // Sentences are made below, so Ajv's own messages would be thrown away.
    messages: false,
    // `verbose` adds the schema and the value to each failure. They are needed to find out which of several forms was meant.
    verbose: true,
  });
  (formats as unknown as (instance: Ajv2020) => void)(ajv);
  // Ajv's own check accepts times that Date cannot read. This one accepts exactly what can be read.
  ajv.addFormat("date-time", (text: string) => parseTimestamp(text) !== undefined);
  ajv.addKeyword({
    keyword: "x-max-bytes",
    type: "string",
    schemaType: "number",
    validate: (limit: number, text: string) => Buffer.byteLength(text) <= limit,
    error: { message: "", params: ({ schema }) => _`{limit: ${schema}}` },
  });
  return ajv;
}

/** Schemas are compiled when first used: compiling all of them would be most of the start-up time. */
function validators(allErrors: boolean): (schema: TSchema) => ValidateFunction {
  const compiled = new WeakMap<TSchema, ValidateFunction>();
  let ajv: Ajv2020 | undefined;
  return (schema) => {
    let validate = compiled.get(schema);
    if (!validate) {
      ajv ??= createAjv(allErrors);
      validate = ajv.compile(withoutId(schema));
      compiled.set(schema, validate);
    }
    return validate;
  };
}

const firstFailure = validators(false);
const allFailures = validators(true);

/** Ids name schemas in the OpenAPI document, but Ajv refuses to see the same id twice. */
function withoutId(schema: TSchema): object {
  const { $id: _, ...rest } = schema as Record<string, unknown>;
  return rest;
}

/** Returns one entry per failure, shaped `<json path>: <message>`; empty when the value is valid. */
export function failures(schema: TSchema, value: unknown): string[] {
  const validate = firstFailure(schema);
  if (validate(value)) return [];
  if (!isSmall(value)) return worded(validate.errors!);
  const thorough = allFailures(schema);
  thorough(value);
  return worded(thorough.errors!);
}

function worded(errors: ErrorObject[]): string[] {
  const sentences = new Set<string>();
  for (const sentence of sentencesOf(errors, errors, "")) {
    sentences.add(sentence);
    if (sentences.size === REPORTED_AT_MOST) break;
  }
  return [...sentences];
}

/**
 * For a value that fits none of several forms, it reports only what is wrong with the form that was meant. `base` is the path of the schema
 * being looked at.
 */
function* sentencesOf(errors: readonly ErrorObject[], all: readonly ErrorObject[], base: string): Generator<string> {
  for (const error of errors) {
    if (IN_A_FORM.test(error.schemaPath.slice(base.length))) continue;
    if (error.keyword === "anyOf" || error.keyword === "oneOf") yield* formSentences(error, all);
    else yield wordError(error);
  }
}

const IN_A_FORM = /\/(anyOf|oneOf)\/\d+\//;

function* formSentences(error: ErrorObject, all: readonly ErrorObject[]): Generator<string> {
  const meant = meantForm(error.schema as object[], error.data);
  if ("types" in meant) yield wordError({ ...error, keyword: "type", params: { type: meant.types } });
  else if ("field" in meant) {
    const instancePath = `${error.instancePath}/${meant.field.replaceAll("~", "~0").replaceAll("/", "~1")}`;
    yield wordError({ ...error, instancePath, keyword: "enum", params: { allowedValues: meant.allowed } });
  } else {
    const base = `${error.schemaPath}/${meant.form}`;
    const of = all.filter(
      ({ schemaPath, instancePath }) =>
        schemaPath.startsWith(`${base}/`) &&
        (instancePath === error.instancePath || instancePath.startsWith(`${error.instancePath}/`)),
    );
    if (of.length === 0) yield wordError(error);
    else yield* sentencesOf(of, all, base);
  }
}

function isSmall(value: unknown): boolean {
  const found = [value];
  for (let i = 0; i < found.length; i++) {
    const current = found[i];
    if (Array.isArray(current) && current.length > LISTED_IN_FULL) return false;
    if (typeof current !== "object" || current === null) continue;
    // Object.values would take seconds on an object with millions of members.
    for (const key in current) {
      if (found.length === LISTED_IN_FULL) return false;
      found.push((current as Record<string, unknown>)[key]);
    }
  }
  return true;
}

export function assertValid<S extends TSchema>(schema: S, value: unknown): Static<S> {
  const errors = failures(schema, value);
  if (errors.length > 0) throw problem("invalid", "Request validation failed.", { errors });
  return value as Static<S>;
}

function wordError(error: ErrorObject): string {
  return `${clipPath(jsonPath(error.instancePath))}: ${message(error)}`;
}

function message({ keyword, params }: ErrorObject): string {
  switch (keyword) {
    case "required":
      return `property '${params.missingProperty}' is required`;
    case "additionalProperties":
      return `additional properties '${clip(params.additionalProperty)}' not allowed`;
    case "type":
      return `must be ${[params.type].flat().join(" or ")}`;
    case "minLength":
      return params.limit === 1 ? "must not be empty" : `must have at least ${params.limit} characters`;
    case "maxLength":
      return `must have at most ${params.limit} characters`;
    case "x-max-bytes":
      return `must be at most ${params.limit} bytes of UTF-8`;
    case "minProperties":
      return `must have at least ${params.limit} ${params.limit === 1 ? "property" : "properties"}`;
    case "minItems":
      return `must have at least ${params.limit} ${params.limit === 1 ? "item" : "items"}`;
    case "maxItems":
      return `must have at most ${params.limit} ${params.limit === 1 ? "item" : "items"}`;
    case "uniqueItems":
      return `items ${Math.min(params.i, params.j)} and ${Math.max(params.i, params.j)} are the same`;
    case "minimum":
    case "maximum":
      return `must be ${params.comparison} ${params.limit}`;
    case "enum":
      return `must be one of ${params.allowedValues.join(", ")}`;
    case "const":
      return `must be ${JSON.stringify(params.allowedValue)}`;
    case "pattern":
      return `must match ${params.pattern}`;
    case "format":
      return `must be a valid ${params.format}`;
    case "anyOf":
    case "oneOf":
      return "fits none of the forms allowed here";
    default:
      return `breaks the rule '${keyword}'`;
  }
}

/** Ajv points with `/items/0`; the API specification uses JSON paths. */
function jsonPath(pointer: string): string {
  return pointer
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"))
    .reduce((path, part) => (/^\d+$/.test(part) ? `${path}[${part}]` : memberPath(path, clip(part))), "$");
}
