/** Shapes of a flat surface: a new field of a model appears in them without further work. */
import { describe, expect, test } from "vitest";
import { flatDialect } from "./flat.ts";
import { flatShapes } from "./flat-shapes.ts";
import { isProblem } from "./problem.ts";
import { resource } from "./resource.ts";
import { name, t } from "./schema.ts";

const Kite = resource("Kite", {
  assigned: { id: t.String() },
  fixed: { colour: name({ "x-flat": "colourName" }) },
  given: {
    name: name(),
    probe: t.Optional(t.Integer({ minimum: 1, maximum: 9 })),
    tail: t.Object({ ribbons: t.Integer() }),
  },
  hidden: { whisper: t.Optional(t.String({ maxLength: 9 })) },
  flatOnly: { readme: t.Optional(t.String({ maxLength: 9 })) },
});

type KeptKite = { name: string; colour: string; probe?: number; tail: { ribbons: number }; readme?: string };

const dialect = flatDialect<KeptKite, Partial<KeptKite>>(Kite);
const shapes = flatShapes(Kite, dialect, {
  called: "Kite",
  assigned: { id: Kite.record.properties.id },
  taken: { knots: t.Optional(t.Integer()) },
  unsaid: { ribbons: "no word of this surface" },
  always: ["id", "name"],
  defaults: { probe: 4 },
});

interface Shape {
  properties: Record<string, { default?: unknown }>;
  required?: string[];
}
const { create, update, record } = shapes as unknown as Record<"create" | "update" | "record", Shape>;
const namesIn = ({ properties }: Shape) => Object.keys(properties).toSorted();
const kept: KeptKite = { name: "k", colour: "red", probe: 5, tail: { ribbons: 3 }, readme: "up" };

describe("what is written once in a model", () => {
  test("is taken at creation, in a change unless it is fixed, and shown unless it is hidden", () => {
    expect(namesIn(create)).toEqual(["colourName", "knots", "name", "probe", "readme", "whisper"]);
    expect(namesIn(update)).toEqual(["knots", "name", "probe", "readme", "whisper"]);
    expect(namesIn(record)).toEqual(["colourName", "id", "name", "probe", "readme"]);
  });

  test("is required as the model has it, and filled in as the surface does", () => {
    expect([create.required, update.required, record.required]).toEqual([
      ["colourName", "name"],
      undefined,
      ["id", "name"],
    ]);
    expect([create.properties.probe?.default, update.properties.probe?.default]).toEqual([4, undefined]);
  });

  test("is read from a record, and written in the terms of the service", () => {
    expect(shapes.of(kept)).toEqual({ name: "k", colourName: "red", probe: 5, readme: "up" });
    const body = { name: "k", colourName: "red", probe: 5, whisper: "w", knots: 2, ribbons: 9, bogus: 1 };
    expect(shapes.created(body)).toEqual({ name: "k", colour: "red", probe: 5, whisper: "w" });
    expect(shapes.updated({ probe: 6, colourName: "blue" }, kept)).toEqual({ probe: 6 });
  });
});

test("what comes out of other forms is held to the dialect once more", () => {
  const refused = () => shapes.created({ name: "k", probe: 10 });
  expect(refused).toThrow();
  try {
    refused();
  } catch (error) {
    expect(isProblem(error, "invalid") && error.errors).toEqual(["$.probe: must be <= 9"]);
  }
});
