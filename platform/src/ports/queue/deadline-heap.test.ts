/** The deadline heap finds what is due, whatever was added, moved and removed before. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { DeadlineHeap, type Timed } from "./deadline-heap.ts";

interface Item extends Timed {
  at: number;
}

const NEVER = Number.POSITIVE_INFINITY;
const time = fc.oneof(fc.integer({ min: 0, max: 50 }), fc.constant(NEVER));
const step = fc.oneof(
  fc.record({ do: fc.constant("add" as const), at: time }),
  fc.record({ do: fc.constant("move" as const), which: fc.nat(), at: time }),
  fc.record({ do: fc.constant("remove" as const), which: fc.nat() }),
);

const newHeap = () => new DeadlineHeap<Item>(({ at }) => at);
const kept = (items: Item[]) => items.filter(({ at }) => at !== NEVER);
const times = (items: Iterable<Item>) => [...items].map(({ at }) => at).toSorted((a, b) => a - b);

test("after any sequence of steps, exactly what is due is found, the first of all first", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), time, (steps, now) => {
      const heap = newHeap();
      const items: Item[] = [];
      for (const each of steps) {
        if (each.do === "add") {
          const item = { at: each.at, heapIndex: -1 };
          items.push(item);
          heap.add(item);
        } else if (items.length > 0) {
          const at = each.which % items.length;
          if (each.do === "move") {
            items[at]!.at = each.at;
            heap.update(items[at]!);
          } else heap.remove(items.splice(at, 1)[0]!);
        }
        expect(heap.first?.at).toBe(times(kept(items))[0]);
      }
      const due = kept(items).filter(({ at }) => at <= now);
      expect(heap.size).toBe(kept(items).length);
      expect(times(heap.due(now, NEVER))).toEqual(times(due));
      expect(heap.due(now, 3).length).toBe(Math.min(3, due.length));
      for (const item of items) expect(item.heapIndex >= 0).toBe(item.at !== NEVER);
    }),
  );
});

test("an item that is not in the heap can be removed without effect, and an update adds it", () => {
  const heap = newHeap();
  const item = { at: 1, heapIndex: -1 };
  heap.remove(item);
  heap.update(item);
  expect([heap.size, heap.first]).toEqual([1, item]);
  heap.remove(item);
  heap.remove(item);
  expect([heap.size, heap.first, heap.due(9, 9)]).toEqual([0, undefined, []]);
});
