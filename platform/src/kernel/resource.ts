/** The resource kit: a resource's fields are written once, and the shapes of its record, creation and update are derived from them. */
import { onceFor } from "./once-for.ts";
import { closed, type Static, type TObject, type TProperties, type TSchema, t } from "./schema.ts";

interface Fields<
  A extends TProperties,
  F extends TProperties,
  G extends TProperties,
  H extends TProperties,
  O extends TProperties,
> {
  /** Fields that the service sets. They are in the record and never taken from a caller. */
  assigned: A;
  /** Fields that are given at creation and never change. */
  fixed?: F;
  /** Fields that are given at creation, can be changed later, and are shown in the record. */
  given: G;
  /** Fields that go in and never come out, such as a secret's value. */
  hidden?: H;
  /** Fields that are given only at creation, and shown in another form or not at all, such as where something may be placed. */
  once?: O;
  /** Fields that exist only in the flat dialect of REST v1 and GraphQL. */
  flatOnly?: TProperties;
  /** Whether an update may be empty, and then changes nothing. Otherwise it must name at least one field. */
  emptyUpdate?: boolean;
}

interface Shown<S extends TProperties> {
  /** Fields whose form in the record differs from the form that a caller sends (a cleared text is shown as null). */
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
    /** The fields that a caller gives and that at least one dialect shows. */
    said: t.Object({ ...fixed, ...fields.given, ...fields.flatOnly } as F & G),
    /** The caller's fields as the store keeps them, in the form in which they are shown. */
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
 * Returns a thing as a record: the fields of the record's shape, and no others. A thing made before a field existed gets that field's
 * default.
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

/** Returns the names of a record's fields, each with the default that is shown if there is no value. */
const fieldsIn = onceFor(({ properties }: TObject) =>
  Object.entries(properties).map(([name, schema]) => [name, defaultOf(schema)] as const),
);

const defaultOf = (schema: TSchema) => (schema as { default?: unknown }).default;

/** The names of the optional fields. */
type OptionalIn<T> = { [Name in keyof T]-?: Record<never, never> extends Pick<T, Name> ? Name : never }[keyof T];

/**
 * Returns the model's defaults for what the caller of a creation left out. A test holds each model to what the type promises, except for
 * fields that the service sets itself.
 */
export function unsaidOf<R extends { create: TObject; kept: TObject }>({ create }: R) {
  const defaults = Object.entries(create.properties).map(([name, schema]) => [name, defaultOf(schema)] as const);
  const known = Object.fromEntries(defaults.filter(([, value]) => value !== undefined));
  return structuredClone(known) as Pick<Static<R["kept"]>, Defaulted<Static<R["create"]>, Static<R["kept"]>>>;
}

/** The fields that a creation may leave out and a record always has. */
type Defaulted<Create, Kept> = Exclude<keyof Kept & OptionalIn<Create>, OptionalIn<Kept>>;

/** Splits what a caller gives into the fields that are kept under their own names, and the rest. */
export function parted<R extends { kept: TObject }, T extends object>({ kept }: R, said: T) {
  const [own, rest] = [true, false].map((isKept) =>
    Object.fromEntries(Object.entries(said).filter(([name]) => name in kept.properties === isKept)),
  );
  return [own, rest] as [Pick<T, keyof T & keyof Static<R["kept"]>>, Omit<T, keyof Static<R["kept"]>>];
}

export type RecordOf<R extends { record: TSchema }> = Static<R["record"]>;

/**
 * The type of a thing in the store: the caller's fields in the form in which they are shown, so it includes new fields of the model.
 * `Other` adds fields, or replaces the form of some.
 */
export type KeptOf<R extends { kept: TSchema }, Other = unknown> = Omit<Static<R["kept"]>, keyof Other> & Other;
