/** The order of checks and work in an operation, for any surface. */
import { expect, test } from "vitest";
import type { Caller } from "../kernel/caller.ts";
import type { Call, Operation } from "../kernel/operation.ts";
import { closed, t } from "../kernel/schema.ts";
import type { Auditing } from "./deeds.ts";
import { type Input, perform, performer, ValidBody } from "./perform.ts";

const operation: Operation = {
  method: "POST",
  path: "/v2/things/{id}",
  summary: "Makes one",
  tag: "Things",
  query: t.Object({ limit: t.Optional(t.Integer({ minimum: 1 })) }),
  in: closed({ name: t.String({ maxLength: 5 }), free: t.Optional(t.Boolean({ "x-who": "installation" })) }),
  status: 201,
  scope: "secrets:write",
  narrowed: "refused",
};

const owner: Caller = { account: "a", user: "u", key: "k", grants: ["all"], exempt: false };
/** This audit log writes nothing. The tests of the audit log cover that. */
const unwritten: Auditing = {
  audit: { record: (_deed, work) => work(async () => {}), refused: async () => {} },
  name: "makeThing",
};
const echo = async (call: Call) => call;
const body = { name: "thing" };

const performed = (input: Input, caller: Partial<Caller> = {}) =>
  perform(operation, echo, { ...owner, ...caller }, { body: () => body, ...input }, unwritten);

test("the handler gets the caller and all that was given", async () => {
  const call = { params: { id: "1" }, query: () => ({ limit: 3 }) };
  expect(await performed(call)).toEqual({ caller: owner, params: { id: "1" }, query: { limit: 3 }, body });
});

test("nothing is read for a caller that may not", async () => {
  const unread = () => {
    throw new Error("it was read");
  };
  for (const caller of [{ grants: ["secrets:read" as const] }, { endpoints: ["e"] }])
    await expect(performed({ query: unread, body: unread }, caller)).rejects.toMatchObject({ code: "not-allowed" });
});

test("what is not valid is refused with its place", async () => {
  await expect(performed({ query: () => ({ limit: 0 }) })).rejects.toMatchObject({ errors: ["$.limit: must be >= 1"] });
  const long = { name: "too long" };
  await expect(performed({ body: () => long })).rejects.toMatchObject({ code: "invalid" });
  await expect(perform(operation, echo, owner, {}, unwritten)).rejects.toMatchObject({ code: "invalid" });
});

test("a field that is the installation's owner's is refused to all others", async () => {
  const free = { body: () => ({ ...body, free: true }) };
  await expect(performed(free)).rejects.toMatchObject({ code: "not-allowed" });
  expect(await performed(free, { ownsInstallation: true })).toMatchObject({ body: { free: true } });
});

test("a body that was checked where it was read is not checked again", async () => {
  const large = new ValidBody({ name: "checked elsewhere" });
  expect(await performed({ body: async () => large })).toMatchObject({ body: { name: "checked elsewhere" } });
});

test("an operation without a body asks for none", async () => {
  const { in: _, ...bodiless } = operation;
  const call = await perform(bodiless, echo, owner, { body: () => expect.unreachable() }, unwritten);
  expect(call).toMatchObject({ body: undefined });
});

test("operations are done by their names for one caller, and checked as for any", async () => {
  const does = performer({ makeThing: operation }, { makeThing: echo as never }, owner, unwritten.audit);
  expect(await does("makeThing", { body: () => body })).toMatchObject({ caller: owner, body });
  await expect(does("makeThing")).rejects.toMatchObject({ code: "invalid" });
});
