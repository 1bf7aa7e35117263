/** What a form needs to know of a field, read from its JSON Schema. */

export interface Schema {
  type?: string;
  enum?: string[];
  const?: unknown;
  anyOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  patternProperties?: Record<string, Schema>;
  required?: string[];
  default?: unknown;
  description?: string;
  format?: string;
  pattern?: string;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  maxItems?: number;
  writeOnly?: boolean;
}

export type Kind =
  | "text"
  | "long"
  | "secret"
  | "number"
  | "switch"
  | "choice"
  | "words"
  | "choices"
  | "map"
  | "group"
  | "groups"
  | "variants"
  | "json";

export interface FieldShape {
  name: string;
  label: string;
  /** Without `null`, where that is allowed. */
  schema: Schema;
  kind: Kind;
  isOptional: boolean;
  isNullable: boolean;
}

/** Words that are written in their own way. */
const WORDS: Record<string, string> = {
  id: "ID",
  ids: "IDs",
  gpu: "GPU",
  gpus: "GPUs",
  cpu: "CPU",
  vcpu: "vCPU",
  cuda: "CUDA",
  env: "Environment",
  url: "URL",
  ssh: "SSH",
  api: "API",
  cmd: "Command",
  args: "Start command",
  http: "HTTP",
  ttl: "TTL",
  s3: "S3",
  ram: "RAM",
};

/** `minVcpuCount` as `Min vCPU count`. */
export function labelOf(name: string): string {
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .replaceAll("_", " ")
    .split(" ")
    .map((word) => WORDS[word.toLowerCase()] ?? word.toLowerCase());
  const text = words.join(" ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function kindOf(name: string, schema: Schema): Kind {
  if (schema.anyOf) return variantKey(schema) === undefined ? "json" : "variants";
  if (schema.enum) return "choice";
  switch (schema.type) {
    case "boolean":
      return "switch";
    case "integer":
    case "number":
      return "number";
    case "string":
      if (schema.writeOnly) return "secret";
      return /readme|description|script/i.test(name) ? "long" : "text";
    case "array":
      if (schema.items?.enum) return "choices";
      if (schema.items?.type === "string") return "words";
      return schema.items?.properties ? "groups" : "json";
    case "object":
      if (schema.properties) return "group";
      return isMapOfTexts(schema) ? "map" : "json";
    default:
      return "json";
  }
}

const isMapOfTexts = ({ patternProperties = {} }: Schema) => {
  const values = Object.values(patternProperties);
  return values.length > 0 && values.every(({ type }) => type === "string");
};

/** The field by which the forms of a union are told apart: each has another constant there. */
export function variantKey({ anyOf = [] }: Schema): string | undefined {
  const forms = anyOf.filter(({ type }) => type !== "null");
  const [first] = forms;
  if (forms.length < 2 || !forms.every(({ properties }) => properties)) return undefined;
  return Object.keys(first!.properties!).find((name) =>
    forms.every(({ properties }) => typeof properties![name]?.const === "string"),
  );
}

/** The forms of a union by their constants. */
export function variantsOf(schema: Schema): Map<string, Schema> {
  const key = variantKey(schema)!;
  return new Map(
    schema.anyOf!.flatMap((form) => (form.properties ? [[String(form.properties[key]!.const), form] as const] : [])),
  );
}

export function fieldsOf({ properties = {}, required = [] }: Schema): FieldShape[] {
  return Object.entries(properties).map(([name, whole]) => {
    const forms = whole.anyOf?.filter(({ type }) => type !== "null");
    const isNullable = forms !== undefined && forms.length < whole.anyOf!.length;
    const schema =
      forms?.length === 1
        ? { ...whole, anyOf: undefined, ...forms[0], description: whole.description ?? forms[0]!.description }
        : whole;
    return {
      name,
      label: labelOf(name),
      schema: schema as Schema,
      kind: kindOf(name, schema as Schema),
      isOptional: !required.includes(name),
      isNullable,
    };
  });
}

/** The unit that a description names, for the right of a number. */
export function unitOf({ description = "" }: Schema): string | undefined {
  return /^(GB|Seconds|Milliseconds|Percent|USD)\b/
    .exec(description)?.[1]
    ?.toLowerCase()
    .replace("gb", "GB")
    .replace("usd", "USD");
}
