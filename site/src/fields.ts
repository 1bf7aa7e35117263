/** The fields of a schema as rows of a table, with those of nested objects below them. */
import { code, escaped, text } from "./html.ts";

export interface Schema {
  $ref?: string;
  type?: string | string[];
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  enum?: unknown[];
  const?: unknown;
  default?: unknown;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  maxItems?: number;
  format?: string;
}

export interface Fields {
  components: { schemas?: Record<string, Schema>; responses?: Record<string, { description?: string }> };
}

type Row = [name: string, type: string, about: string];

/** Deeper ones are read in the model of their own. */
const DEEPEST = 3;

export function schemaIn(document: Fields, schema: Schema): Schema {
  const name = schema.$ref?.split("/").at(-1);
  return name === undefined ? schema : (document.components.schemas?.[name] ?? {});
}

export function fieldRows(document: Fields, given: Schema, prefix = "", depth = 1): Row[] {
  const schema = schemaIn(document, given);
  const parts = [...(schema.allOf ?? []), ...variants(schema)];
  const own = Object.entries(schema.properties ?? {}).flatMap(([name, field]) =>
    rowsOf(document, { name: prefix + name, field, isRequired: schema.required?.includes(name) ?? false, depth }),
  );
  return [...own, ...parts.flatMap((part) => fieldRows(document, part, prefix, depth))];
}

const variants = ({ anyOf = [], oneOf = [] }: Schema) => [...anyOf, ...oneOf].filter(({ type }) => type !== "null");

interface Named {
  name: string;
  field: Schema;
  isRequired: boolean;
  depth: number;
}

function rowsOf(document: Fields, { name, field, isRequired, depth }: Named): Row[] {
  const schema = schemaIn(document, field);
  const [only] = variants(schema);
  const description = field.description ?? schema.description ?? (only && schemaIn(document, only).description) ?? "";
  const row: Row = [
    code(name) + (isRequired ? "" : ' <span class="quiet">optional</span>'),
    typeOf(document, field),
    text(description),
  ];
  if (depth >= DEEPEST) return [row];
  const items = schema.items ?? (only && schemaIn(document, only).items);
  const below = items
    ? fieldRows(document, items, `${name}[].`, depth + 1)
    : fieldRows(document, schema, `${name}.`, depth + 1);
  return [row, ...below];
}

function typeOf(document: Fields, given: Schema): string {
  const schema = schemaIn(document, given);
  const several = [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])];
  if (several.length > 0) return [...new Set(several.map((one) => typeOf(document, one)))].join(" or ");
  if (schema.const !== undefined) return code(JSON.stringify(schema.const));
  if (schema.enum) return schema.enum.map((value) => code(String(value))).join(", ");
  if (schema.items) return `list of ${typeOf(document, schema.items)}`;
  const type = [schema.type ?? "object"].flat().join(" or ");
  return [escaped(schema.format ?? type), escaped(bounds(schema)), standard(schema)].filter(Boolean).join(", ");
}

const standard = ({ default: value }: Schema) => (value === undefined ? "" : `default ${code(JSON.stringify(value))}`);

function bounds({ minimum, maximum, minLength, maxLength, maxItems }: Schema): string {
  const [least, most] = [minimum ?? minLength, maximum ?? maxLength ?? maxItems];
  const unit = maxLength === undefined ? "" : " characters";
  if (least !== undefined && most !== undefined) return `${least} to ${most}${unit}`;
  if (most !== undefined) return `at most ${most}${unit}`;
  return least === undefined ? "" : `at least ${least}`;
}
