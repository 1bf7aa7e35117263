/** What a model says about its records, as columns and facts: a new field is shown without a line of the console. */
import type { ReactNode } from "react";
import type { Column } from "../design/column.ts";
import { Id, Money, When } from "../design/facts.tsx";
import { type FieldShape, fieldsOf, type Schema } from "../forms/schema.ts";

/** The shape of a record: of a resource, or of something that is only read. */
export type Model = object | { record: object };

const schemaOf = (model: Model): Schema => ("record" in model ? model.record : model) as Schema;

/** The fields that answers have. A field that goes in and never comes out is not among them. */
export const recordFields = (model: Model): FieldShape[] =>
  fieldsOf(schemaOf(model)).filter(({ schema }) => !schema.writeOnly);

/** The page's own columns, then one for each field that none of them shows. These wait in the list of columns. */
export function columnsFrom<Row extends object>(model: Model, own: readonly Column<Row>[]): Column<Row>[] {
  const shown = new Set(own.flatMap(({ id, fields = [] }) => [id, ...fields]));
  const others = recordFields(model).filter(({ name }) => !shown.has(name));
  return [...own, ...others.map((field) => columnOf<Row>(field))];
}

function columnOf<Row extends object>(field: FieldShape): Column<Row> {
  const read = (row: Row) => (row as Record<string, unknown>)[field.name];
  return {
    id: field.name,
    title: field.label,
    value: (row) => plainOf(read(row)),
    cell: (row) => <FieldValue field={field} value={read(row)} />,
    isNumber: field.kind === "number",
    isExtra: true,
  };
}

/** A value as sorting and CSV take it. */
export function plainOf(value: unknown): string | number | boolean | null {
  if (value === null || value === undefined) return null;
  if (Array.isArray(value) && value.every((one) => typeof one !== "object")) return value.join(", ");
  return typeof value === "object" ? JSON.stringify(value) : (value as string | number | boolean);
}

const isEmpty = (value: unknown) =>
  value === null ||
  value === undefined ||
  value === "" ||
  (typeof value === "object" && Object.keys(value).length === 0);

/** A value as people read it, by what its schema says. */
export function FieldValue({
  field,
  value,
}: {
  field: Pick<FieldShape, "name" | "schema">;
  value: unknown;
}): ReactNode {
  const { name, schema } = field;
  if (isEmpty(value)) return <span className="quiet">–</span>;
  if (typeof value === "boolean") return value ? "Yes" : "No";
  if (schema.format === "date-time") return <When at={String(value)} />;
  if (typeof value === "number") {
    return /\bUSD\b/.test(schema.description ?? "") ? <Money usd={value} /> : <span className="numbers">{value}</span>;
  }
  if (name === "id" || /[a-z]Id$/.test(name)) return <Id value={String(value)} />;
  if (typeof value === "object" && !Array.isArray(value)) return <code>{JSON.stringify(value)}</code>;
  return String(plainOf(value));
}
