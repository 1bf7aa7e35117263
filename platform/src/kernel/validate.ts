/** Validation against a schema, with failures worded for people. */
import { _, Ajv2020, type ErrorObject, type ValidateFunction } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { memberPath } from "./json.ts";
import { problem } from "./problem.ts";
import type { Static, TSchema } from "./schema.ts";

const REPORTED_AT_MOST = 20;

// Ajv's defaults change what the caller sent ({value: 5, bogus: 1} became {value: "5"}): nothing is coerced, removed or filled in.
const ajv = new Ajv2020({
  allErrors: true,
  coerceTypes: false,
  removeAdditional: false,
  useDefaults: false,
  strict: false,
  validateSchema: false,
  addUsedSchema: false,
  // A sentence per failure is made below; Ajv's own would be thrown away.
  messages: false,
});
(formats as unknown as (instance: Ajv2020) => void)(ajv);
ajv.addKeyword({
  keyword: "x-max-bytes",
  type: "string",
  schemaType: "number",
  validate: (limit: number, text: string) => Buffer.byteLength(text) <= limit,
  error: { message: "", params: ({ schema }) => _`{limit: ${schema}}` },
});

const compiled = new WeakMap<TSchema, ValidateFunction>();

/** Schemas are compiled at their first use: compiling all of them would be most of the start-up time. */
function validator(schema: TSchema): ValidateFunction {
  let validate = compiled.get(schema);
  if (!validate) {
    validate = ajv.compile(withoutId(schema));
    compiled.set(schema, validate);
  }
  return validate;
}

/** Ids name schemas in the OpenAPI document; to Ajv the same id twice is an error. */
function withoutId(schema: TSchema): object {
  const { $id: _, ...rest } = schema as Record<string, unknown>;
  return rest;
}

/** One entry per failure, shaped `<json path>: <message>`; empty when the value fits. */
export function failures(schema: TSchema, value: unknown): string[] {
  const validate = validator(schema);
  if (validate(value)) return [];
  const worded = (validate.errors ?? []).filter(isSpecific).map(wordError);
  return [...new Set(worded)].slice(0, REPORTED_AT_MOST);
}

export function assertValid<S extends TSchema>(schema: S, value: unknown): Static<S> {
  const errors = failures(schema, value);
  if (errors.length > 0) throw problem("invalid", "Request validation failed.", { errors });
  return value as Static<S>;
}

/** A failed alternative is reported once, not once per branch. */
function isSpecific(error: ErrorObject): boolean {
  return !/\/(anyOf|oneOf)\/\d+\//.test(error.schemaPath);
}

function wordError(error: ErrorObject): string {
  return `${jsonPath(error.instancePath)}: ${message(error)}`;
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
      return `items ${params.j} and ${params.i} are the same`;
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

/** Ajv points with `/items/0`; the specification's errors use a JSON path. */
function jsonPath(pointer: string): string {
  return pointer
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"))
    .reduce((path, part) => (/^\d+$/.test(part) ? `${path}[${part}]` : memberPath(path, clip(part))), "$");
}

/** A hostile property name must not make the answer as large as the request. */
function clip(text: string): string {
  return text.length > 100 ? `${text.slice(0, 100)}…` : text;
}
