/** The loopback of the fake driver's instances. It reaches every port that their programs listen on. */
import type { Duplex } from "node:stream";
import type { FakeInstance } from "./fake-instance.ts";
import { dialFirst, type Loopback, type LoopbackTarget, notReached } from "./loopback.ts";

export class FakeLoopback implements Loopback {
  readonly #driver: { instance(id: string): FakeInstance };

  constructor(driver: { instance(id: string): FakeInstance }) {
    this.#driver = driver;
  }

  async dial(id: string, target: LoopbackTarget): Promise<Duplex> {
    const instance = this.#driver.instance(id);
    return dialFirst(target, async ({ port }) => {
      try {
        return instance.connect(port);
      } catch (error) {
        throw notReached(id, target, (error as Error).message, error);
      }
    });
  }
}
