/** A new optional field of a model is in its form, its list and its page, without a line of the console. */

import { resource } from "@millrace/platform/kernel/resource.ts";
import { dateTime, t } from "@millrace/platform/kernel/schema.ts";
import { Secret } from "@millrace/platform/resources/secrets/model.ts";
import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, test } from "vitest";
import type { Column } from "../design/column.ts";
import { fieldsOf, type Schema } from "../forms/schema.ts";
import { columns as ownColumns } from "../pages/secrets/columns.tsx";
import { AllFields } from "./all-fields.tsx";
import { columnsFrom, plainOf, recordFields } from "./derived.tsx";

/** A copy of the model of secrets with one more field. */
const grown = resource("GrownSecret", {
  assigned: { id: t.String(), createdAt: dateTime("Creation time.") },
  given: {
    ...(Secret.update.properties as Record<never, never>),
    rotateEveryDays: t.Optional(
      t.Integer({ minimum: 1, maximum: 365, description: "Days after which it should get a new value." }),
    ),
  },
});
const record = { id: "s1", createdAt: "2026-03-01T00:00:00.000Z", rotateEveryDays: 30 };
const NEW = "rotateEveryDays";

describe("a field that a model gains", () => {
  test("is in no face of the model as it is", () => {
    expect(fieldsOf(Secret.create as Schema).map(({ name }) => name)).not.toContain(NEW);
    expect(columnsFrom(Secret, ownColumns as Column<object>[]).map(({ id }) => id)).not.toContain(NEW);
  });

  test.each(["create", "update"] as const)("is in the form to %s one, with its label, help and bounds", (shape) => {
    const field = fieldsOf(grown[shape] as Schema).find(({ name }) => name === NEW);
    expect(field).toMatchObject({
      label: "Rotate every days",
      kind: "number",
      isOptional: true,
      schema: { minimum: 1, maximum: 365, description: "Days after which it should get a new value." },
    });
  });

  test("is a further column of the list, to be chosen, sorted and exported", () => {
    const column = columnsFrom(grown, ownColumns as Column<object>[]).find(({ id }) => id === NEW)!;
    expect(column).toMatchObject({ title: "Rotate every days", isNumber: true, isExtra: true });
    expect(column.value(record)).toBe(30);
    expect(renderToStaticMarkup(createElement("td", null, column.cell?.(record)))).toContain("30");
  });

  test("is a fact on the page of the record", () => {
    const html = renderToStaticMarkup(createElement(AllFields, { model: grown, record }));
    expect(html).toContain("Rotate every days");
    expect(html).toContain(">30<");
  });
});

test("a field that an own column shows under another id is not offered twice", () => {
  const own: Column<object>[] = [{ id: "age", title: "Age", value: () => 1, fields: ["createdAt"] }];
  expect(columnsFrom(grown, own).filter(({ title }) => /created/i.test(title))).toEqual([]);
});

test("what goes in and never comes out is not a fact", () => {
  const shape = t.Object({ id: t.String(), password: t.String({ writeOnly: true }) });
  expect(recordFields(shape).map(({ name }) => name)).toEqual(["id"]);
});

test.each([
  [undefined, null],
  [["a", "b"], "a, b"],
  [{ min: 1 }, '{"min":1}'],
  [[{ a: 1 }], '[{"a":1}]'],
  [false, false],
])("%j is exported as %j", (value, plain) => {
  expect(plainOf(value)).toBe(plain);
});
