/** The resource kit: fields are written once, and what is returned, created and updated is derived from them. */
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
    record: t.Object({ ...fields.assigned, ...fixed, ...shown } as A & F & Omit<G, keyof S> & S, { $id: name }),
    create: closed({ ...fixed, ...fields.given, ...hidden, ...once } as F & G & H & O, { $id: `Create${name}Request` }),
    update: t.Partial(closed(changeable), {
      additionalProperties: false,
      ...(fields.emptyUpdate ? {} : { minProperties: 1 }),
      $id: `Update${name}Request`,
    }),
  };
}

/** What is returned of a thing: the fields of its record, of whatever is known of it, and no others. */
export function recordFrom<R extends { record: TObject }>(
  { record }: R,
  known: Static<R["record"]>,
): Static<R["record"]> {
  const values = known as Record<string, unknown>;
  const names = Object.keys(record.properties).filter((name) => values[name] !== undefined);
  return Object.fromEntries(names.map((name) => [name, values[name]])) as Static<R["record"]>;
}

export type RecordOf<R extends { record: TSchema }> = Static<R["record"]>;
