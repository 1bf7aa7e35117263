/** Which accounts' programs run where something that keeps programs apart is missing. */
import { describe, expect, test } from "vitest";
import { StartRefused } from "../../ports/compute/compute.ts";
import { Isolation, type Leave } from "./isolation.ts";
import { hardwareAddressIn, namesIn } from "./links.ts";

const isolation = (leave: Leave) => new Isolation({ leave, isOwners: async (account) => account === "owner" });

const runs = (one: Isolation, account: string) =>
  one.check(account).then(
    () => true,
    (error: unknown) => {
      expect(error).toBeInstanceOf(StartRefused);
      return false;
    },
  );

describe("where something is missing", () => {
  test.each([
    ["nobody", false, false],
    ["owner", true, false],
    ["all", true, true],
  ] as const)("programs run for %s", async (leave, owners, others) => {
    const one = isolation(leave);
    one.note("network", "no bridge");
    expect([await runs(one, "owner"), await runs(one, "other")]).toEqual([owners, others]);
  });

  test("the refusal and the log name every part, and the refusal the setting", async () => {
    const one = isolation("nobody");
    one.note("network", "no bridge");
    one.note("limits", "no control groups");
    await expect(one.check("owner")).rejects.toThrow("no bridge; no control groups (MILLRACE_SANDBOX=optional");
    expect(one.warning).toBe(
      "programs cannot be isolated from this machine, and are refused: no bridge; no control groups",
    );
  });

  test("everybody's run again once it is there", async () => {
    const one = isolation("nobody");
    one.note("rules", "nft failed");
    expect([await runs(one, "other"), one.isWhole]).toEqual([false, false]);
    one.note("rules", undefined);
    expect([await runs(one, "other"), one.isWhole, one.warning]).toEqual([true, true, undefined]);
  });

  test("a server alone on loopback lets the owner's run, and takes nothing from what the operator allowed", async () => {
    for (const [leave, others] of [
      ["nobody", false],
      ["all", true],
    ] as const) {
      const one = isolation(leave);
      one.note("sandbox", "install bubblewrap");
      one.allowOwner();
      expect([await runs(one, "owner"), await runs(one, "other")]).toEqual([true, others]);
    }
  });
});

test("links are read as the kernel tells of them", () => {
  const table = "Inter-|   Receive\n face |bytes    packets\n    lo: 11 2\nmr0a1b2cg12:       0 0\n";
  expect(namesIn(table)).toEqual(["lo", "mr0a1b2cg12"]);
  const link = "4: eth0: <UP> mtu 1400 qdisc noop\\    link/ether 02:fc:00:00:00:01 brd ff:ff:ff:ff:ff:ff";
  expect(hardwareAddressIn(link)).toBe("02:fc:00:00:00:01");
  expect(hardwareAddressIn("1: lo: <UP>\\    link/loopback 00:00:00:00:00:00")).toBeUndefined();
});
