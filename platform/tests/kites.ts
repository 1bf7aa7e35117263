/** Kites: an invented resource that shows how little a new one takes. */
import { answered } from "../src/guards/perform.ts";
import type { Caller } from "../src/kernel/caller.ts";
import { timestamp } from "../src/kernel/clock.ts";
import { flatDialect } from "../src/kernel/flat.ts";
import { newRecord } from "../src/kernel/ids.ts";
import { lifecycle } from "../src/kernel/lifecycle.ts";
import { operationsOn } from "../src/kernel/operations-on.ts";
import { paged } from "../src/kernel/paged.ts";
import { resource } from "../src/kernel/resource.ts";
import { dateTime, name, oneOf, type Static, t } from "../src/kernel/schema.ts";
import { Collection, type Item, type PageAsked, type RecordParts } from "../src/ports/store/collection.ts";

export const Kite = resource("Kite", {
  assigned: { id: t.String(), status: oneOf(["GROUNDED", "FLYING"]), createdAt: dateTime("Creation time.") },
  given: { name: name(), line: t.Integer({ minimum: 1, maximum: 500, description: "In m.", "x-flat": "lineInM" }) },
});
type NewKite = Static<typeof Kite.create>;
export type KeptKite = NewKite & { status: "GROUNDED" | "FLYING" };
const kept = { kind: "kite", v: 1 };

export const kiteLifecycle = lifecycle<KeptKite["status"], "launch" | "land">({
  ...{ of: "kite", states: { GROUNDED: "It lies.", FLYING: "It is up." }, begins: ["GROUNDED"] },
  moves: { launch: { from: ["GROUNDED"], to: "FLYING" }, land: { from: ["FLYING"], to: "GROUNDED" } },
});
export const kiteDialect = flatDialect<KeptKite, NewKite>(Kite, { unsaid: { status: "moved by actions alone" } });

const on = operationsOn(Kite, "/v2/account/kites", { tag: "Account", scope: "clusters", one: "a kite", many: "kites" });
export const kiteOperations = {
  ...{ listKites: on.list(), createKite: on.create(), getKite: on.get(), updateKite: on.update() },
  ...{ deleteKite: on.remove(), kiteAction: on.act(kiteLifecycle) },
};

const kiteService = ({ store, ...parts }: RecordParts, kites = new Collection<KeptKite>(store, kept)) => ({
  list: (caller: Caller, asked: PageAsked) => kites.page(caller, asked),
  create: ({ account }: Caller, kite: NewKite) =>
    kites.insert({ ...newRecord(parts, account), doc: { ...kite, status: "GROUNDED" } }),
  get: (caller: Caller, id: string) => kites.owned(caller, id),
  update: (caller: Caller, id: string, set: Partial<NewKite>) => kites.changeOwned(caller, id, () => ({ set })),
  remove: (caller: Caller, id: string) => kites.removeOwned(caller, id),
  act: (caller: Caller, id: string, move: "launch" | "land") =>
    kites.changeOwned(caller, id, ({ doc }) => ({ set: { status: kiteLifecycle.next(doc.status, move) } })),
});

const shown = ({ id, createdAt, doc: { name, line, status } }: Item<KeptKite>) => {
  return { id, name, line, status, createdAt: timestamp(createdAt) };
};

export function kiteResource(parts: RecordParts) {
  const kites = kiteService(parts);
  return answered(kiteOperations, {
    listKites: ({ caller, query }) => paged("kites", query, (asked) => kites.list(caller, asked), shown),
    createKite: async ({ caller, body }) => shown(await kites.create(caller, body)),
    getKite: async ({ caller, params }) => shown(await kites.get(caller, params.id!)),
    updateKite: async ({ caller, params, body }) => shown(await kites.update(caller, params.id!, body)),
    deleteKite: ({ caller, params }) => kites.remove(caller, params.id!),
    kiteAction: async ({ caller, params, body }) => shown(await kites.act(caller, params.id!, body.action)),
  });
}
