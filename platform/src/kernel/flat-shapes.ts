/** The shapes in which a flat surface takes and shows a resource: made from the fields of its dialect, odd ones written out. */

import type { Dialect, Flat } from "./flat.ts";
import { onceFor } from "./once-for.ts";
import { isOptional, type TObject, type TProperties, type TSchema, type TUnsafe, t } from "./schema.ts";
import { assertValid } from "./validate.ts";

/** What a flat surface says otherwise than the dialect. */
export interface Face {
  /** What its schemas are called. */
  called: string;
  /** In records alone, such as an id. */
  assigned?: TProperties;
  /** Taken in another form than the dialect's, or beside its fields. */
  taken?: TProperties;
  /** Taken at creation alone, though the model would let it be changed. */
  once?: readonly string[];
  /** Shown in another form than the dialect's. */
  shown?: TProperties;
  /** Neither taken nor shown, each with the reason. */
  unsaid?: Readonly<Record<string, string>>;
  /** Shown and not taken, each with the reason. */
  untaken?: Readonly<Record<string, string>>;
  /** Never left out of a record: strict clients read nothing without these. */
  always: readonly string[];
  /** What the surface fills in at creation where nothing is said. */
  defaults?: Flat;
}

export interface FlatShapes<Kept = unknown, Terms = unknown> {
  /** A body may say more than these name, which is read by nobody. */
  create: TUnsafe<Flat>;
  update: TUnsafe<Flat>;
  record: TUnsafe<Flat>;
  /** A record in the names that the surface shows. */
  of(kept: Kept): Flat;
  /**
   * What a body says in names of the dialect, in the terms of the service; what the surface takes beside them is not in it. Forms that the
   * dialect does not have must be its own by then: what came out of them is held to it once more.
   */
  created(body: Flat): Terms;
  updated(body: Flat, before: Kept): Terms;
}

interface Changeable {
  create: TObject;
  update: TObject;
}

/** Given at creation, and in no update; what the dialect alone says is neither there nor there, and can be changed. */
const isFixed = ({ create, update }: Changeable, names: readonly string[]) =>
  names.some((name) => name in create.properties) && !names.some((name) => name in update.properties);

/** A name of the dialect with a dot is one of something within, such as a template's in an endpoint. */
const isOwn = (name: string) => !name.includes(".");

export function flatShapes<Kept extends object, Terms extends object>(
  model: Changeable,
  dialect: Dialect<Kept, Terms>,
  face: Face,
): FlatShapes<Kept, Terms> {
  const { called, assigned = {}, taken = {}, once = [], shown = {}, unsaid = {}, untaken = {}, defaults = {} } = face;
  const fields = Object.entries(dialect.fields).filter(([name]) => isOwn(name) && !(name in unsaid));
  const given = fields.filter(([name]) => !(name in untaken));
  const isChanged = ([name, { says }]: (typeof fields)[number]) =>
    !once.includes(name) && !isFixed(model, [name, ...says.map((path) => path.split(".")[0]!)]);
  const schemas = (of: typeof fields) => Object.fromEntries(of.map(([name, { schema }]) => [name, schema]));
  const changed = given.filter(isChanged);
  const changedTaken = Object.entries(taken).filter(([name]) => !once.includes(name));
  const created = withDefaults({ ...schemas(given), ...taken }, defaults);
  const updated = { ...schemas(changed), ...Object.fromEntries(changedTaken) };
  const required = ((dialect.create.required as string[] | undefined) ?? []).filter(
    (name) => name in created && !(name in taken) && !(name in defaults),
  );
  const needed = Object.keys(taken).filter((name) => !isOptional(taken[name]!));
  const visible = fields.filter(([name, { says }]) => says.length > 0 && !(name in shown));
  const said = (names: readonly string[], body: Flat) =>
    Object.fromEntries(names.flatMap((name) => (body[name] === undefined ? [] : [[name, body[name]]])));
  const shownNames = [...visible.map(([name]) => name), ...Object.keys(shown)];
  const createdNames = given.map(([name]) => name);
  const updatedNames = changed.map(([name]) => name);
  return {
    create: open(`${called}CreateInput`, created, [...required, ...needed]),
    update: open(`${called}UpdateInput`, updated, []),
    record: open(called, { ...assigned, ...schemas(visible), ...shown }, face.always),
    of: onceFor((kept) => Object.freeze(said(shownNames, dialect.of(kept)))),
    created: (body) => dialect.terms(assertValid(dialect.update, said(createdNames, body))),
    updated: (body, before) => dialect.terms(assertValid(dialect.update, said(updatedNames, body)), before),
  };
}

const open = (id: string, properties: TProperties, required: readonly string[]) =>
  t.Unsafe<Flat>({
    ...{ $id: id, type: "object", properties },
    ...(required.length > 0 && { required: [...required] }),
  });

const withDefaults = (properties: TProperties, defaults: Flat): TProperties =>
  Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [
      name,
      name in defaults ? ({ ...schema, default: defaults[name] } as TSchema) : schema,
    ]),
  );
