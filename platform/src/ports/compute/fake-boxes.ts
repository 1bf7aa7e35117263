/** The boxes of the fake driver and their devices: which exist, which are lost, and who holds what. */
import { type Box, type Gpu, type GpuWish, type InstanceSpec, PlaceGone } from "./compute.ts";
import { Devices, type Held } from "./devices.ts";
import { boxesOf, devicesOf, type FakeOptions } from "./fake-options.ts";

export class FakeBoxes {
  readonly #held: Held;
  #boxes: Box[];
  #devices: Devices;

  constructor(capacity: FakeOptions["capacity"], held: Held) {
    this.#held = held;
    this.#boxes = boxesOf(capacity);
    this.#devices = this.#newDevices();
  }

  get all(): Box[] {
    return this.#boxes.map((box) => ({ ...box }));
  }

  /** Changes what the first box has. */
  resize(capacity: Partial<Box>): void {
    this.#change(this.#boxes.map((box, index) => (index === 0 ? { ...box, ...capacity } : box)));
  }

  lose(box: string): void {
    this.#change(this.#boxes.filter(({ id }) => id !== box));
  }

  check({ box }: InstanceSpec): void {
    if (box !== undefined && !this.#boxes.some(({ id }) => id === box)) throw new PlaceGone(`there is no box ${box}`);
  }

  give<T>(id: string, wish: GpuWish | undefined, begin: (gpus: readonly Gpu[]) => Promise<T>): Promise<T> {
    return this.#devices.give(id, wish, begin);
  }

  #change(boxes: Box[]): void {
    this.#boxes = boxes;
    this.#devices = this.#newDevices();
  }

  /** One pool with the devices of all boxes. The fake driver does not track which box a device is in. */
  #newDevices(): Devices {
    const devices = new Devices(this.#boxes.flatMap(devicesOf));
    devices.heldBy(this.#held);
    return devices;
  }
}
