/** What every Store guarantees for records in use: a new user touches the record, and a removal names the version that nobody used. */
import { expect, test } from "vitest";
import { insertOf, patchOf, removeOf, seed, settled } from "./conformance-records.ts";
import type { OpenStore } from "./store.conformance.ts";

export function useConformance(open: OpenStore): void {
  test("of a use and a removal at once by two stores, one is refused", async () => {
    await using opened = await open();
    await using other = await opened.beside();
    for (let round = 0; round < 10; round++) {
      const [used, user] = [`used${round}`, `user${round}`];
      await seed(opened.store, { id: used });
      const use = () => opened.store.commit([insertOf({ id: user }), patchOf(used, {})]);
      const remove = () => other.store.commit([{ ...removeOf(used), ifVersion: 1 }]);
      const { won, refused } = await settled<unknown>(round % 2 ? [use(), remove()] : [remove(), use()]);
      expect([won.length, refused.length]).toEqual([1, 1]);
      const isUsed = (await opened.store.get("thing", user)) !== undefined;
      expect((await opened.store.get("thing", used)) !== undefined).toBe(isUsed);
      expect(refused).toEqual([isUsed ? "changed" : "missing"]);
    }
  });
}
