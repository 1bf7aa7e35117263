/** Where the members of a group find room: on one machine, or on several that can share a network, all of them or none. */
import { expect, test } from "vitest";
import type { SpanEnd } from "../ports/compute/spans.ts";
import { termsOf } from "../ports/compute/spans.ts";
import type { Need } from "./need.ts";
import type { Machine } from "./place.ts";
import { Room } from "./room.ts";

const KEY = { key: "k", port: 7423, inside: "fd00::1" };
const end = (address: string, more: Partial<SpanEnd> = {}): SpanEnd => ({
  ...{ address, port: 7424, mtu: 1500, trusts: [] },
  ...more,
});
const machine = (id: string, gpus: number, more: Partial<Machine> = {}): Machine => ({
  id,
  dataCenter: "EU-1",
  groups: true,
  boxes: [
    {
      ...{ id: "machine", vcpu: 64, memoryMb: 262_144, diskGb: 1000, ceilings: false },
      gpus: [{ type: "A40", count: gpus, virtual: false }],
    },
  ],
  ...more,
});
const sharing = (id: string, gpus: number, address: string, more: Partial<SpanEnd> = { cipher: KEY }): Machine =>
  machine(id, gpus, { spanning: { end: end(address, more) } });
const NEED: Need = {
  ...{
    kind: "gpu",
    count: 1,
    types: [{ type: "A40", vcpu: 1, memoryMb: 1024 }],
    diskGb: 1,
    groups: true,
    runs: "host",
  },
};
const members = (count: number) => Array.from({ length: count }, () => NEED);

function taken(room: Room, count: number): string[] | string {
  const places = room.takeTogether(members(count));
  return "reason" in places ? places.reason.text : places.map((place) => place.machine);
}

test("all members are on one machine if one has room, whichever can share a network", () => {
  const room = new Room([sharing("a", 1, "192.0.2.1"), machine("b", 2), sharing("c", 1, "192.0.2.3")]);
  expect(taken(room, 2)).toEqual(["b", "b"]);
});

test("otherwise they fill as few machines as possible, neighbours side by side", () => {
  const machines = [sharing("a", 1, "192.0.2.1"), sharing("b", 3, "192.0.2.2"), sharing("c", 2, "192.0.2.3")];
  expect(taken(new Room(machines), 5)).toEqual(["b", "b", "b", "c", "c"]);
});

test("all or none: what was taken for some is free again if one finds no room", () => {
  const room = new Room([sharing("a", 1, "192.0.2.1"), sharing("b", 1, "192.0.2.2")]);
  expect(taken(room, 3)).toBe("no capacity: 2 of 3 would find room: needs 1x A40, 0 of 2 free");
  expect(taken(room, 2)).toEqual(["a", "b"]);
});

test("machines that share no network do not count, and the refusal names one and why", () => {
  const room = new Room([sharing("a", 1, "192.0.2.1"), machine("b", 1, { spanning: { lacks: "vxlan is missing" } })]);
  expect(taken(room, 2)).toBe(
    "no capacity: there is room for all 2, but not on one machine, and machine b shares no network with others: vxlan is missing",
  );
  const apart = new Room([machine("a", 1), machine("b", 1)]);
  expect(taken(apart, 2)).toBe("no capacity: there is room for all 2, but not on one machine");
});

test("without a trusted network, machines that cannot encrypt are refused, and the reason says what to do", () => {
  const mute = sharing("b", 1, "192.0.2.2", { cannotEncrypt: "wg not found" });
  const places = new Room([sharing("a", 1, "192.0.2.1"), mute]).takeTogether(members(2));
  expect(places).toMatchObject({ reason: { code: "cluster-unencrypted", facts: { members: 2, machine: "b" } } });
  expect("reason" in places && places.reason.text).toContain("(wg not found)");
  expect("reason" in places && places.reason.text).toContain("MILLRACE_TRUSTED_NETWORKS");
});

test("both machines must trust both addresses, or what is sent is encrypted", () => {
  const trusts = ["10.0.0.0/8"];
  const [a, b] = [end("10.1.1.1", { trusts, cipher: KEY }), end("10.1.1.2", { trusts, cipher: KEY })];
  expect(termsOf([a, b])).toEqual({ isEncrypted: false, mtu: 1450 });
  expect(termsOf([a, { ...b, trusts: [] }])).toEqual({ isEncrypted: true, mtu: 1350 });
  expect(termsOf([a, { ...b, address: "192.0.2.1", mtu: 1400 }])).toEqual({ isEncrypted: true, mtu: 1250 });
});

test("a machine that only some can share with is left out, and so is one in another data center", () => {
  const [a, b] = [sharing("a", 1, "192.0.2.1"), sharing("b", 1, "192.0.2.2")];
  const far = { ...sharing("far", 9, "192.0.2.9"), dataCenter: "US-1" };
  const mute = sharing("mute", 1, "192.0.2.8", {});
  expect(taken(new Room([mute, far, a, b]), 2)).toEqual(["far", "far"]);
  expect(taken(new Room([mute, { ...far, boxes: [] }, a, b]), 2)).toEqual(["a", "b"]);
  expect(taken(new Room([{ ...far, boxes: a.boxes }, a]), 2)).toContain("too far apart");
});

test("two nodes on one machine do not share a network with each other", () => {
  expect(taken(new Room([sharing("a", 1, "192.0.2.1"), sharing("b", 1, "192.0.2.1")]), 2)).toContain(
    "not on one machine",
  );
});

test("a driver whose networks stay on the machine keeps the members of its images together", () => {
  const only = (id: string, address: string) => {
    const one = sharing(id, 1, address);
    return { ...one, spanning: { ...one.spanning, images: ["container"] as const } };
  };
  expect(taken(new Room([only("a", "192.0.2.1"), only("b", "192.0.2.2")]), 2)).toContain("not on one machine");
});
