/** The resource kit: fields are written once, and the shapes of record, creation and update follow, for programs and for the compiler. */
import { describe, expect, test } from "vitest";
import { type KeptOf, parted, type RecordOf, recordFrom, resource, unsaidOf } from "./resource.ts";
import { nullable, type Static, t } from "./schema.ts";
import { failures } from "./validate.ts";

const Sample = resource("Sample", {
  assigned: { id: t.String(), size: t.Optional(t.Integer()) },
  fixed: { name: t.String() },
  given: {
    image: t.String(),
    note: t.Optional(t.String()),
    disk: t.Optional(t.Integer({ minimum: 1 })),
    nested: t.Optional(t.Object({ a: t.Integer() })),
  },
  hidden: { password: t.String({ minLength: 1 }) },
  shown: { note: nullable(t.String()) },
});
type Sample = RecordOf<typeof Sample>;
type Create = Static<typeof Sample.create>;
type Update = Static<typeof Sample.update>;

const created: Create = { name: "n", image: "i", password: "p" };

describe("the record", () => {
  test("has what the service assigns, what is fixed and what is given, and nothing hidden", () => {
    expect(Object.keys(Sample.record.properties).sort()).toEqual(
      ["id", "size", "name", "image", "note", "disk", "nested"].sort(),
    );
    expect(Sample.record.properties).not.toHaveProperty("password");
  });

  test("shows a field in its record form", () => {
    const record = { id: "1", name: "n", image: "i" };
    expect(failures(Sample.record, { ...record, note: null })).toEqual([]);
    expect(failures(Sample.create, { ...created, note: null })).toEqual(["$.note: must be string"]);
  });

  test("may gain fields in a later release: readers are not told to refuse them", () => {
    expect(Sample.record).not.toHaveProperty("additionalProperties");
  });
});

describe("creation", () => {
  test("takes what is fixed, given and hidden", () => {
    const all = { ...created, note: "", disk: 1, nested: { a: 1 } };
    expect(failures(Sample.create, all)).toEqual([]);
    expect(failures(Sample.create, created)).toEqual([]);
  });

  test("needs every field that is not optional", () => {
    expect(failures(Sample.create, {})).toEqual([
      "$: property 'name' is required",
      "$: property 'image' is required",
      "$: property 'password' is required",
    ]);
  });

  test("takes nothing that the service assigns, and nothing unknown", () => {
    expect(failures(Sample.create, { ...created, id: "1" })).toEqual(["$: additional properties 'id' not allowed"]);
    expect(failures(Sample.create, { ...created, bogus: 1 })).toEqual(["$: additional properties 'bogus' not allowed"]);
  });
});

describe("an update", () => {
  test("changes any one of what is given and hidden", () => {
    for (const change of [{ image: "j" }, { note: "x" }, { disk: 2 }, { password: "q" }, { nested: { a: 2 } }]) {
      expect(failures(Sample.update, change)).toEqual([]);
    }
  });

  test("changes something", () => {
    expect(failures(Sample.update, {})).toEqual(["$: must have at least 1 property"]);
  });

  test("may change nothing where the resource says so", () => {
    const Patient = resource("Patient", { assigned: {}, given: { name: t.String() }, emptyUpdate: true });
    expect(failures(Patient.update, {})).toEqual([]);
    expect(failures(Patient.update, { bogus: 1 })).toEqual(["$: additional properties 'bogus' not allowed"]);
  });

  test.each(["name", "id", "size", "bogus"])("does not take %s", (field) => {
    expect(failures(Sample.update, { [field]: "x" })).toEqual([`$: additional properties '${field}' not allowed`]);
  });

  test("holds each field to the rules of its creation", () => {
    expect(failures(Sample.update, { password: "" })).toEqual(["$.password: must not be empty"]);
  });
});

test("the three shapes are named in the OpenAPI document after the resource", () => {
  const ids = [Sample.record, Sample.create, Sample.update].map((schema) => (schema as { $id?: string }).$id);
  expect(ids).toEqual(["Sample", "CreateSampleRequest", "UpdateSampleRequest"]);
});

test("a resource without fixed, hidden or shown fields needs none", () => {
  const Plain = resource("Plain", { assigned: { id: t.String() }, given: { name: t.String() } });
  expect(failures(Plain.create, { name: "n" })).toEqual([]);
  expect(failures(Plain.record, { id: "1", name: "n" })).toEqual([]);
  expect(failures(Plain.update, { name: "m" })).toEqual([]);
});

/** This never runs. The compiler reads it, and fails when one of the marked lines is not an error. */
export function promisesToTheCompiler(record: Sample, create: Create, update: Update): void {
  record.name satisfies string;
  record.note satisfies string | null;
  // @ts-expect-error a hidden field is never returned
  record.password;
  // @ts-expect-error an assigned field is never taken from a caller
  create.id;
  // @ts-expect-error a fixed field cannot be updated
  update.name;
  update.password satisfies string | undefined;
  // @ts-expect-error a creation needs its hidden field
  ({ name: "n", image: "i" }) satisfies Create;
  // @ts-expect-error a given text is not null, even where the record shows null
  ({ ...created, note: null }) satisfies Create;
}

describe("what is kept", () => {
  const Later = resource("Later", {
    assigned: { id: t.String() },
    fixed: { kind: t.String() },
    given: {
      size: t.Optional(t.Integer({ default: 7 })),
      marks: t.Optional(t.Array(t.String(), { default: [] })),
      note: t.Optional(nullable(t.String())),
    },
    once: { where: t.Optional(t.String({ default: "here" })) },
    shown: { size: t.Integer() },
  });

  test("has the types of the model, with what is kept in another form, or beside", () => {
    const kept: KeptOf<typeof Later, { note: number; place: string }> = { kind: "k", size: 1, note: 2, place: "p" };
    // @ts-expect-error: what a record always shows is always kept.
    const without: KeptOf<typeof Later> = { kind: "k" };
    expect([kept, without]).toHaveLength(2);
  });

  test("is at creation what the model says, where nobody says anything else", () => {
    expect(unsaidOf(Later)).toEqual({ size: 7, marks: [], where: "here" });
  });

  test("is apart from what is said once", () => {
    expect(parted(Later, { kind: "k", note: null, where: "there" })).toEqual([
      { kind: "k", note: null },
      { where: "there" },
    ]);
  });

  test("is shown with the default of a field that is younger than it, and without what it never had", () => {
    const old = { id: "1", kind: "k", size: 3, digest: "hidden" };
    expect(recordFrom(Later, old)).toEqual({ id: "1", kind: "k", size: 3, marks: [] });
    expect(recordFrom(Later, { ...old, note: null })).toMatchObject({ note: null });
  });
});
