/** The shapes in which a flat surface accepts and shows a resource, made from the fields of its dialect; odd fields are written out. */

import type { Dialect, Flat } from "./flat.ts";
import { onceFor } from "./once-for.ts";
import { isOptional, type TObject, type TProperties, type TSchema, type TUnsafe, t } from "./schema.ts";
import { withUnsetNulls } from "./unset-nulls.ts";
import { assertValid } from "./validate.ts";

/** Where a flat surface differs from the dialect. */
export interface Face {
  /** The name of its schemas. */
  called: string;
  /** Fields that appear only in records, such as an id. */
  assigned?: TProperties;
  /** Fields accepted in another form than the dialect's, or in addition to its fields. */
  taken?: TProperties;
  /** Fields accepted only at creation, although the model would allow changes. */
  once?: readonly string[];
  /** Fields shown in another form than the dialect's. */
  shown?: TProperties;
  /** Fields that are neither accepted nor shown, each with the reason. */
  unsaid?: Readonly<Record<string, string>>;
  /** Fields that are shown but not accepted, each with the reason. */
  untaken?: Readonly<Record<string, string>>;
  /** Fields that are never left out of a record, since strict clients cannot read a record without them. */
  always: readonly string[];
  /** The values that the surface fills in at creation when the caller gives none. */
  defaults?: Flat;
}

export interface FlatShapes<Kept = unknown, Terms = unknown> {
  /**
   * These schemas are open: a body may have other fields too, and the surface ignores those. In a body, an optional field may be null, which
   * means the same as leaving it out, unless null is a value of the field.
   */
  create: TUnsafe<Flat>;
  update: TUnsafe<Flat>;
  record: TUnsafe<Flat>;
  /** Returns a record under the names that the surface shows. */
  of(kept: Kept): Flat;
  /**
   * Turns the dialect's fields of a body into terms of the service. Fields that the surface accepts in addition are left out. The caller
   * converts other forms to the dialect's first; the result is validated against the dialect once more.
   */
  created(body: Flat): Terms;
  updated(body: Flat, before: Kept): Terms;
}

interface Changeable {
  create: TObject;
  update: TObject;
}

/** True for fields that are given at creation and in no update. A field that only the dialect has is in neither, and can be changed. */
const isFixed = ({ create, update }: Changeable, names: readonly string[]) =>
  names.some((name) => name in create.properties) && !names.some((name) => name in update.properties);

/** False for names with a dot, which belong to something inside the resource, such as the template in an endpoint. */
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
    create: withUnsetNulls(open(`${called}CreateInput`, created, [...required, ...needed])),
    update: withUnsetNulls(open(`${called}UpdateInput`, updated, [])),
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
