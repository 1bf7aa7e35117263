/** The flat dialect of an invented resource: plain fields are derived, odd ones are written out, and a missing one is detected. */
import { describe, expect, test } from "vitest";
import { gapsIn } from "./flat.conformance.ts";
import { flatDialect, plainField } from "./flat.ts";
import { resource } from "./resource.ts";
import { closed, nullable, t } from "./schema.ts";
import { failures } from "./validate.ts";

const Sample = resource("Sample", {
  assigned: { id: t.String() },
  fixed: { name: t.String() },
  given: {
    image: t.String({ "x-flat": "imageName" }),
    disk: t.Optional(t.Integer({ minimum: 1, "x-flat": "containerDiskInGb" })),
    env: t.Optional(t.Record(t.String(), t.String())),
    tags: t.Optional(t.Array(nullable(t.String()))),
    workers: t.Optional(closed({ min: t.Integer({ "x-flat": "workersMin" }), idle: t.Optional(t.Integer()) })),
    place: t.Optional(t.Union([t.String(), closed({ x: t.Integer(), y: t.Integer() })])),
    note: t.Optional(t.String()),
  },
  hidden: { password: t.String() },
});

type Kept = Record<string, unknown> & { place?: { x: number; y: number } };

const dialect = flatDialect<Kept, Kept>(Sample, {
  unsaid: { note: "nobody there knows of it" },
  prefix: (path) => (path === "image" ? "template." : ""),
  odd: {
    position: {
      says: ["place.x", "place.y"],
      schema: t.String({ pattern: "^\\d+x\\d+$" }),
      read: ({ place }) => place && `${place.x}x${place.y}`,
      write: (text) => {
        const [x = 0, y = 0] = (text as string).split("x").map(Number);
        return { place: { x, y } };
      },
    },
  },
});

describe("a dialect", () => {
  test("has plain fields under their own names or those of x-flat, odd ones, hidden ones, and none that is left out", () => {
    expect(Object.keys(dialect.fields)).toEqual([
      "name",
      "template.imageName",
      "containerDiskInGb",
      "env",
      "tags",
      "workersMin",
      "idle",
      "password",
      "position",
    ]);
  });

  test("keeps the rules of each field, what is required, and refuses what it does not know", () => {
    expect(failures(dialect.create, { "template.imageName": "i", containerDiskInGb: 0, image: "i" })).toEqual([
      "$: property 'name' is required",
      "$: property 'password' is required",
      "$: additional properties 'image' not allowed",
      "$.containerDiskInGb: must be >= 1",
    ]);
    expect(failures(dialect.update, { position: "1x2" })).toEqual([]);
    expect(failures(dialect.update, { position: "here" })).not.toEqual([]);
  });

  test("says what a record has, and nothing of what it has not", () => {
    expect(dialect.of({ name: "n", image: "i", workers: { min: 2 }, place: { x: 3, y: 4 }, note: "x" })).toEqual({
      name: "n",
      "template.imageName": "i",
      workersMin: 2,
      position: "3x4",
    });
  });

  test("is taken back, what it says of one object together", () => {
    const flat = { name: "n", workersMin: 2, idle: 5, env: { A: "b" }, position: "3x4" };
    const place = { x: 3, y: 4 };
    expect(dialect.terms(flat)).toEqual({ name: "n", workers: { min: 2, idle: 5 }, env: { A: "b" }, place });
  });

  test("is found wanting where a field is neither plain nor odd nor left out by its name, or no longer exists", () => {
    const careless = flatDialect<Kept, Kept>(Sample, { unsaid: { gone: "it is not there" } });
    const record = { name: "n", image: "i", disk: 1, env: {}, tags: [], workers: { min: 1, idle: 2 }, note: "" };
    const whole = [{ ...record, place: { x: 1, y: 2 }, secret: 1 }];
    expect(gapsIn(careless, whole)).toEqual({ unspoken: ["place.x", "place.y", "secret"], unknown: ["gone"] });
  });
});

test("a plain field may lie anywhere", () => {
  const field = plainField<Kept, Kept>("a.b.c", t.Integer());
  expect([field.read({ a: { b: { c: 1 } } }), field.read({})]).toEqual([1, undefined]);
  expect(field.write(1, {}, undefined)).toEqual({ a: { b: { c: 1 } } });
});
