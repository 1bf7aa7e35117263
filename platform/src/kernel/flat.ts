/** The flat dialect of a resource, used by REST v1, GraphQL and the history of releases: plain fields are derived, odd ones written out. */
import { onceFor } from "./once-for.ts";
import { closed, type TObject, type TProperties, type TSchema, t } from "./schema.ts";

/** Values by their names in the dialect. Surfaces convert some of them to forms of their own, such as a list as one text. */
export type Flat = Readonly<Record<string, unknown>>;

/** One name of the dialect. */
export interface FlatField<Kept, Terms> {
  /** The record's fields that this name stands for, with dots inside objects. Empty when the record never shows it. */
  says: readonly string[];
  schema: TSchema;
  /** Returns undefined when the record has no value, such as the GPUs of an endpoint without any. */
  read(kept: Kept): unknown;
  /**
   * Turns the caller's value into terms of the service. `all` is everything that the caller gives, `before` the record that they change.
   */
  write(value: unknown, all: Flat, before: Kept | undefined): Terms;
}

type FlatFields<Kept, Terms> = Readonly<Record<string, FlatField<Kept, Terms>>>;

export interface Dialect<Kept, Terms> {
  fields: FlatFields<Kept, Terms>;
  /** Fields that the dialect cannot express, each with the reason. */
  unsaid: Readonly<Record<string, string>>;
  /** The schemas of a creation and of an update in the dialect. */
  create: TObject;
  update: TObject;
  /** Returns a record in the dialect. Names without a value are absent. */
  of(kept: Kept): Flat;
  /** Turns the caller's values, already valid by the schema, into terms of the service. */
  terms(flat: Flat, before?: Kept): Terms;
}

interface Oddities<Kept, Terms> {
  /** Fields that are more than one plain field of the record under another name. */
  odd?: FlatFields<Kept, Terms>;
  unsaid?: Readonly<Record<string, string>>;
  /** Returns the prefix for the names of some fields, such as those of a template within an endpoint. */
  prefix?: (path: string) => string;
}

/**
 * Makes the dialect of a resource whose records use the names of its model. A text, a number, a list or a map of them keeps its own name,
 * or takes the one that the model gives as `x-flat`; so do fields inside objects. A field that is none of these, is not odd and is not left
 * out by name has no name in the dialect. A test detects that.
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

/** A plain field, given by its path. */
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

/** True when an odd field stands for this field, or for a part of it. */
const isOdd = <Kept, Terms>(odd: FlatFields<Kept, Terms>, path: string): boolean =>
  Object.values(odd).some(({ says }) => says.some((said) => said === path || said.startsWith(`${path}.`)));

/** Fields that go in and never come out, such as a password. They are given under their own name and never read. */
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

/** True for values without fields of their own. A map is plain too, since its caller chooses the names. */
function isPlain(schema: TSchema): boolean {
  const { items, anyOf } = schema as { items?: TSchema; anyOf?: TSchema[] };
  return !isObject(schema) && (items === undefined || isPlain(items)) && (anyOf ?? []).every(isPlain);
}

/** The result is frozen, because all readers of an unchanged record share it. */
const present = (entries: [string, unknown][]): Flat =>
  Object.freeze(Object.fromEntries(entries.filter(([, value]) => value !== undefined)));

/** Merges what several names give for parts of one object into that object. */
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
