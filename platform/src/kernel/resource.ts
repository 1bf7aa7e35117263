/** The resource kit: fields are written once, and what is returned, created and updated is derived from them. */
import { onceFor } from "./once-for.ts";
import { closed, type Static, type TObject, type TProperties, type TSchema, t } from "./schema.ts";

interface Fields<
  A extends TProperties,
  F extends TProperties,
  G extends TProperties,
  H extends TProperties,
  O extends TProperties,
> {
  /** Made by the service: in the record, never taken from a caller. */
  assigned: A;
  /** Given at creation and never changed. */
  fixed?: F;
  /** Given at creation, changeable later, shown in the record. */
  given: G;
  /** Goes in and never comes out, such as a secret's value. */
  hidden?: H;
  /** Given at creation alone, and shown in another form or not at all, such as where something may be placed. */
  once?: O;
  /** Said in the flat dialect of REST v1 and GraphQL alone. */
  flatOnly?: TProperties;
  /** Whether an update may name no field at all, and then changes nothing; otherwise it must name one. */
  emptyUpdate?: boolean;
}

interface Shown<S extends TProperties> {
  /** Fields whose record form differs from the form a caller sends (a cleared text is shown as null). */
  shown?: S;
}

type None = Record<never, TSchema>;

export function resource<
  A extends TProperties,
  G extends TProperties,
  F extends TProperties = None,
  H extends TProperties = None,
  S extends TProperties = None,
  O extends TProperties = None,
>(name: string, fields: Fields<A, F, G, H, O> & Shown<S>) {
  const fixed = fields.fixed ?? ({} as F);
  const hidden = fields.hidden ?? ({} as H);
  const once = fields.once ?? ({} as O);
  const shown = { ...fields.given, ...fields.shown } as unknown as Omit<G, keyof S> & S;
  const changeable = { ...fields.given, ...hidden } as G & H;
  return {
    name,
    /** What a caller says of it that is shown too, in one dialect or another. */
    said: t.Object({ ...fixed, ...fields.given, ...fields.flatOnly } as F & G),
    /** What is kept of what a caller gave, in the form in which it is shown. */
    kept: t.Object({ ...fixed, ...shown } as F & Omit<G, keyof S> & S),
    record: t.Object({ ...fields.assigned, ...fixed, ...shown } as A & F & Omit<G, keyof S> & S, { $id: name }),
    create: closed({ ...fixed, ...fields.given, ...hidden, ...once } as F & G & H & O, { $id: `Create${name}Request` }),
    update: t.Partial(closed(changeable), {
      additionalProperties: false,
      ...(fields.emptyUpdate ? {} : { minProperties: 1 }),
      $id: `Update${name}Request`,
    }),
  };
}

/**
 * What is returned of a thing: the fields of its record, of whatever is known of it, and no others. What was made before a field was there has
 * the default of that field.
 */
export function recordFrom<R extends { record: TObject }>(
  { record }: R,
  known: Static<R["record"]>,
): Static<R["record"]> {
  const values = known as Record<string, unknown>;
  const shown: Record<string, unknown> = {};
  for (const [name, unsaid] of fieldsIn(record)) {
    const value = values[name] ?? (values[name] === undefined ? unsaid : null);
    if (value !== undefined) shown[name] = value;
  }
  return shown as Static<R["record"]>;
}

/** The names of a record's fields, each with what is shown where nothing is known. */
const fieldsIn = onceFor(({ properties }: TObject) =>
  Object.entries(properties).map(([name, schema]) => [name, defaultOf(schema)] as const),
);

const defaultOf = (schema: TSchema) => (schema as { default?: unknown }).default;

/** Names of what need not be there. */
type OptionalIn<T> = { [Name in keyof T]-?: Record<never, never> extends Pick<T, Name> ? Name : never }[keyof T];

/**
 * What a new thing has of which its caller said nothing: the defaults of its model. A test holds each model to what the type promises, but for
 * fields that the service itself puts in.
 */
export function unsaidOf<R extends { create: TObject; kept: TObject }>({ create }: R) {
  const defaults = Object.entries(create.properties).map(([name, schema]) => [name, defaultOf(schema)] as const);
  const known = Object.fromEntries(defaults.filter(([, value]) => value !== undefined));
  return structuredClone(known) as Pick<Static<R["kept"]>, Defaulted<Static<R["create"]>, Static<R["kept"]>>>;
}

/** What a creation may leave out and a record always has. */
type Defaulted<Create, Kept> = Exclude<keyof Kept & OptionalIn<Create>, OptionalIn<Kept>>;

/** What a caller says of a new thing, in two: what is kept of it under its own name, and the rest. */
export function parted<R extends { kept: TObject }, T extends object>({ kept }: R, said: T) {
  const [own, rest] = [true, false].map((isKept) =>
    Object.fromEntries(Object.entries(said).filter(([name]) => name in kept.properties === isKept)),
  );
  return [own, rest] as [Pick<T, keyof T & keyof Static<R["kept"]>>, Omit<T, keyof Static<R["kept"]>>];
}

export type RecordOf<R extends { record: TSchema }> = Static<R["record"]>;

/**
 * What is kept of a thing: what callers give of it, as it is shown, so that a new field of the model is in it. `Other` is kept in another form, or
 * beside.
 */
export type KeptOf<R extends { kept: TSchema }, Other = unknown> = Omit<Static<R["kept"]>, keyof Other> & Other;
