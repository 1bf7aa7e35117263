/** Sends back to a surface what it shows of a record, as far as it is writable, for tests that this changes nothing. */
import { type GraphQLInputObjectType, GraphQLList, GraphQLObjectType, getNullableType } from "graphql";
import type { TSchema } from "../src/kernel/schema.ts";
import { graphSchema } from "../src/surfaces/graphql/schema.ts";
import { type Answered, called } from "./faces.ts";
import { ask, dataOf } from "./graphql.ts";
import type { World } from "./world.ts";

export type Fields = Readonly<Record<string, Answered>>;

/** One way to read and write a record. */
export interface Way {
  /** Returns the writable fields, in the form in which they are accepted. */
  read(world: World, id: string): Promise<Fields>;
  /** The names of the fields that this way accepts. */
  takes: readonly string[];
  /** Undefined if accepted, otherwise the refusal. */
  send(world: World, id: string, fields: Fields): Promise<string | undefined>;
}

type Forms = Readonly<Record<string, (shown: Answered) => unknown>>;

interface RestWay {
  at: (id: string) => string;
  update: TSchema;
  method?: "PATCH" | "PUT" | "POST";
  /** The path for changes, if it differs. */
  to?: (id: string) => string;
  /** Converts fields that are shown in another form than they are accepted in. */
  forms?: Forms;
}

export const restWay = ({ at, update, method = "PATCH", to = at, forms = {} }: RestWay): Way => {
  const { properties } = update as unknown as { properties: Record<string, TSchema> };
  return {
    takes: Object.keys(properties),
    async read(world, id) {
      const record = await called(world, "GET", at(id));
      const shown = Object.keys(properties).filter((name) => record[name] !== undefined);
      return Object.fromEntries(
        shown.map((name) => [name, forms[name] ? forms[name](record[name]) : taken(properties[name]!, record[name])]),
      );
    },
    async send(world, id, fields) {
      const { status, text } = await world.call(method, to(id), { body: fields });
      return status < 300 ? undefined : `${status}: ${text}`;
    },
  };
};

interface Shape {
  type?: string;
  properties?: Record<string, TSchema>;
  items?: TSchema;
}

/** Keeps only the properties that the schema knows, like clients that are generated from the document. */
function taken(schema: TSchema, shown: Answered): unknown {
  const { type, properties, items } = schema as Shape;
  if (type === "array" && items && Array.isArray(shown)) return shown.map((item) => taken(items, item));
  if (type !== "object" || !properties || typeof shown !== "object" || shown === null) return shown;
  const known = Object.entries(shown as object).filter(([name]) => name in properties);
  return Object.fromEntries(known.map(([name, value]) => [name, taken(properties[name]!, value)]));
}

interface GraphWay {
  /** The mutation, its input, and the name of the record's id in it. */
  save: string;
  input: string;
  named?: string;
  /** The type of the record that is shown. */
  output: string;
  /** The list in `myself` that contains the record. */
  list: string;
  forms?: Forms;
}

export const graphWay = ({ save, input, named = "id", output, list, forms = {} }: GraphWay): Way => {
  const takes = sharedFields(input, output).filter((name) => name !== named);
  return {
    takes: [...takes],
    async read(world, id) {
      const document = `{ myself { ${list} { id ${selection(input, output, takes)} } } }`;
      const row = (await dataOf(world, document)).myself[list].find((one: Answered) => one.id === id);
      const shown = takes.filter((name) => row[name] !== null);
      return Object.fromEntries(shown.map((name) => [name, forms[name] ? forms[name](row[name]) : row[name]]));
    },
    async send(world, id, fields) {
      const document = `mutation ($input: ${input}) { ${save}(input: $input) { id } }`;
      const { json, text } = await ask(world, document, { variables: { input: { ...fields, [named]: id } } });
      return json.errors ? text : undefined;
    },
  };
};

const fieldsOf = (type: string) =>
  (graphSchema.getType(type) as GraphQLObjectType | GraphQLInputObjectType).getFields();

const sharedFields = (input: string, output: string): string[] =>
  Object.keys(fieldsOf(input)).filter((name) => name in fieldsOf(output));

/** Selects of each object the fields that its input accepts. */
function selection(input: string, output: string, names: readonly string[]): string {
  return names
    .map((name) => {
      const shown = bare(fieldsOf(output)[name]!.type);
      if (!(shown instanceof GraphQLObjectType)) return name;
      const said = bare(fieldsOf(input)[name]!.type) as GraphQLInputObjectType;
      const inner = sharedFields(said.name, shown.name).filter((one) => one !== "id");
      return `${name} { ${selection(said.name, shown.name, inner)} }`;
    })
    .join(" ");
}

function bare(type: Answered): unknown {
  const inner = getNullableType(type);
  return inner instanceof GraphQLList ? bare(inner.ofType) : inner;
}

/** Reverses the order of maps, as clients that sort names would change it. The meaning is the same. */
export function reordered(value: Answered): Answered {
  if (Array.isArray(value)) return value.map(reordered);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([name, inner]) => [name, reordered(inner)]),
  );
}
