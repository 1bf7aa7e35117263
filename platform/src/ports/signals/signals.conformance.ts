/** What every Signals guarantees. This suite defines the port and runs against each adapter. */
import { describe, expect, test } from "vitest";
import type { Signals, Topic } from "./signals.ts";

/** Signals opened for one test. */
export interface OpenedSignals extends AsyncDisposable {
  signals: Signals;
  /** Opens the signals of another node, or says why there is none. */
  another: (() => Promise<Signals>) | { cannot: string };
}

/** Counts what a listener hears. A test can wait for it. */
export function listener(signals: Signals, topic: Topic) {
  const heard: number[] = [];
  let wake = () => {};
  const stop = signals.listen(topic, (count) => {
    heard.push(count);
    wake();
  });
  return {
    heard,
    stop,
    /** Resolves once this many have been signalled. */
    async total(wanted: number): Promise<void> {
      while (heard.reduce((sum, count) => sum + count, 0) < wanted) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
  };
}

export function signalsConformance(name: string, open: () => Promise<OpenedSignals>): void {
  describe.concurrent(`${name} is a Signals`, () => {
    test("who listens to a topic hears of it at once, and of no other", async () => {
      await using opened = await open();
      const [one, two] = [listener(opened.signals, "work:a"), listener(opened.signals, "work:a")];
      const other = listener(opened.signals, "ended:a");
      opened.signals.emit("work:a");
      opened.signals.emit("work:a", 3);
      expect([one.heard, two.heard, other.heard]).toEqual([[1, 3], [1, 3], []]);
    });

    test("who stopped listening hears nothing more, and others still do", async () => {
      await using opened = await open();
      const [one, two] = [listener(opened.signals, "stop:w"), listener(opened.signals, "stop:w")];
      one.stop();
      one.stop();
      opened.signals.emit("stop:w");
      two.stop();
      opened.signals.emit("stop:w");
      expect([one.heard, two.heard]).toEqual([[], [1]]);
    });

    test("a listener that listens anew whenever it is called hears each signal once", async () => {
      await using opened = await open();
      const heard: number[] = [];
      const listen = () => {
        const stop = opened.signals.listen("chunk:j", (count) => {
          heard.push(count);
          stop();
          if (heard.length < 10) listen();
        });
      };
      listen();
      opened.signals.emit("chunk:j");
      opened.signals.emit("chunk:j", 2);
      expect(heard).toEqual([1, 2]);
    });

    test("a listener that another one stopped is not called any more", async () => {
      await using opened = await open();
      opened.signals.listen("stop:w", () => second.stop());
      const second = listener(opened.signals, "stop:w");
      opened.signals.emit("stop:w");
      expect(second.heard).toEqual([]);
    });

    test("a signal that nobody listens to is forgotten", async () => {
      await using opened = await open();
      opened.signals.emit("work:a");
      expect(listener(opened.signals, "work:a").heard).toEqual([]);
    });

    test("topics that are odd or long harm no others", async (context) => {
      await using opened = await open();
      if (typeof opened.another !== "function") return context.skip(opened.another.cannot);
      await using other = await opened.another();
      const odd = listener(other, "work:a\u0000\ud800");
      const plain = listener(other, "work:a");
      opened.signals.emit(`stop:${"long".repeat(5_000)}`);
      opened.signals.emit("work:a\u0000\ud800");
      opened.signals.emit("work:a");
      await Promise.all([odd.total(1), plain.total(1)]);
    });

    test("another node hears of it too, once", async (context) => {
      await using opened = await open();
      if (typeof opened.another !== "function") return context.skip(opened.another.cannot);
      await using other = await opened.another();
      const [here, there] = [listener(opened.signals, "work:a"), listener(other, "work:a")];
      opened.signals.emit("work:a", 2);
      other.emit("work:a", 5);
      await Promise.all([here.total(7), there.total(7)]);
      opened.signals.emit("work:a");
      await there.total(8);
      expect(here.heard).toEqual([2, 5, 1]);
      expect(there.heard.toSorted()).toEqual([1, 2, 5]);
    });
  });
}
