/** The flat dialect of a resource, as REST v1, GraphQL and the history of releases speak: plain fields by derivation, odd ones written out. */
import { onceFor } from "./once-for.ts";
import { closed, type TObject, type TProperties, type TSchema, t } from "./schema.ts";

/** Names of the dialect with what they stand for. Surfaces put it into their own forms, such as a list as one text. */
export type Flat = Readonly<Record<string, unknown>>;

/** One name of the dialect. */
export interface FlatField<Kept, Terms> {
  /** The fields of the record that it is made of, those of objects with a dot; none where the record never shows it. */
  says: readonly string[];
  schema: TSchema;
  /** Undefined where the record has none, such as GPUs of an endpoint without them. */
  read(kept: Kept): unknown;
  /** What a caller gives by it, in the terms of the service. `all` is what they say beside it, `before` the record that they change. */
  write(value: unknown, all: Flat, before: Kept | undefined): Terms;
}

type FlatFields<Kept, Terms> = Readonly<Record<string, FlatField<Kept, Terms>>>;

export interface Dialect<Kept, Terms> {
  fields: FlatFields<Kept, Terms>;
  /** What the dialect cannot say, each with the reason. */
  unsaid: Readonly<Record<string, string>>;
  /** What a creation or an update may say in it. */
  create: TObject;
  update: TObject;
  /** A record in the dialect; what it does not have is absent. */
  of(kept: Kept): Flat;
  /** What a caller says in the dialect, valid by its schema, in the terms of the service. */
  terms(flat: Flat, before?: Kept): Terms;
}

interface Oddities<Kept, Terms> {
  /** Fields that are not one plain field of the record under another name. */
  odd?: FlatFields<Kept, Terms>;
  unsaid?: Readonly<Record<string, string>>;
  /** What stands before the names of some fields, such as those of a template within an endpoint. */
  prefix?: (path: string) => string;
}

/**
 * The dialect of a resource whose records are kept under the names of its model. A text, a number, a list or a map of them is said by its
 * own name, or by that which `x-flat` of the model gives it, also within an object; whatever is neither that nor odd nor left out by its
 * name is said by nothing, which a test finds.
 */
export function flatDialect<Kept extends object, Terms extends object>(
  { said, create }: { said: TObject; create: TObject },
  { odd = {}, unsaid = {}, prefix = () => "" }: Oddities<Kept, Terms> = {},
): Dialect<Kept, Terms> {
  const fields = {
    ...derived<Kept, Terms>(said, odd, unsaid, prefix),
    ...hidden<Kept, Terms>(said, create, odd),
    ...odd,
  };
  const required = new Set((create.required as string[] | undefined) ?? []);
  const properties: TProperties = {};
  for (const [name, { schema, says }] of Object.entries(fields))
    properties[name] = required.has(says[0] ?? name) ? schema : t.Optional(schema);
  const { minProperties } = create as { minProperties?: number };
  const shape = closed(properties, minProperties === undefined ? {} : { minProperties });
  return {
    fields,
    unsaid,
    create: shape,
    update: t.Partial(shape, { additionalProperties: false }),
    of: onceFor((kept) => present(Object.entries(fields).map(([name, { read }]) => [name, read(kept)]))),
    terms: (flat, before) => together(flat, (name, value) => fields[name]!.write(value, flat, before)),
  };
}

/** A plain field, by the path to it. */
export function plainField<Kept extends object, Terms extends object>(
  path: string,
  schema: TSchema,
): FlatField<Kept, Terms> {
  const names = path.split(".");
  return {
    says: [path],
    schema,
    read: (kept) =>
      names.reduce<unknown>((inner, name) => (inner as Record<string, unknown> | undefined)?.[name], kept),
    write: (value) => names.reduceRight<unknown>((inner, name) => ({ [name]: inner }), value) as Terms,
  };
}

function derived<Kept extends object, Terms extends object>(
  { properties }: TObject,
  odd: FlatFields<Kept, Terms>,
  unsaid: Readonly<Record<string, string>>,
  prefix: (path: string) => string,
  within = "",
): Record<string, FlatField<Kept, Terms>> {
  const fields: Record<string, FlatField<Kept, Terms>> = {};
  for (const [name, schema] of Object.entries(properties)) {
    const path = within + name;
    if (isOdd(odd, path) || path in unsaid) continue;
    const flatName = prefix(path) + ((schema as { "x-flat"?: string })["x-flat"] ?? name);
    if (isPlain(schema)) fields[flatName] = plainField(path, schema);
    else if (isObject(schema)) Object.assign(fields, derived(schema, odd, unsaid, prefix, `${path}.`));
  }
  return fields;
}

/** Whether an odd field says it, or a part of it. */
const isOdd = <Kept, Terms>(odd: FlatFields<Kept, Terms>, path: string): boolean =>
  Object.values(odd).some(({ says }) => says.some((said) => said === path || said.startsWith(`${path}.`)));

/** What goes in and never comes out, such as a password, is given by its own name and read by none. */
function hidden<Kept, Terms>(
  said: TObject,
  create: TObject,
  odd: FlatFields<Kept, Terms>,
): Record<string, FlatField<Kept, Terms>> {
  const names = Object.entries(create.properties).filter(([name]) => !(name in said.properties || isOdd(odd, name)));
  return Object.fromEntries(
    names.map(([name, schema]) => [
      name,
      { says: [], schema, read: () => undefined, write: (value) => ({ [name]: value }) as Terms },
    ]),
  );
}

const isObject = (schema: TSchema): schema is TObject => "properties" in schema;

/** Nothing in it has a name of its own; the names of a map are its caller's. */
function isPlain(schema: TSchema): boolean {
  const { items, anyOf } = schema as { items?: TSchema; anyOf?: TSchema[] };
  return !isObject(schema) && (items === undefined || isPlain(items)) && (anyOf ?? []).every(isPlain);
}

/** Readers of a record that did not change share it. */
const present = (entries: [string, unknown][]): Flat =>
  Object.freeze(Object.fromEntries(entries.filter(([, value]) => value !== undefined)));

/** What several names say of one object is that object. */
function together<Terms extends object>(flat: Flat, write: (name: string, value: unknown) => Terms): Terms {
  const terms: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(flat)) {
    for (const [field, said] of Object.entries(write(name, value))) {
      const known = terms[field];
      terms[field] = isMap(known) && isMap(said) ? { ...known, ...said } : said;
    }
  }
  return terms as Terms;
}

const isMap = (value: unknown): value is object => typeof value === "object" && value !== null && !Array.isArray(value);
