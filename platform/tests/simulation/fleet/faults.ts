/** What goes wrong in a fleet: nodes crash, freeze and leave; machines lose power; the store is away; clocks are set; programs end. */
import type { SimulatedMachine } from "./machine.ts";
import type { FleetMix } from "./mix.ts";
import type { FleetWorld } from "./world.ts";

type Fault = keyof FleetMix["faults"];

const LONGEST_FREEZE_MS = 45_000;
const LONGEST_JUMP_MS = 40_000;
const BAD_TIME_MS = 8000;

export class Faults {
  readonly #world: FleetWorld;
  #isOver = false;

  constructor(world: FleetWorld) {
    this.#world = world;
  }

  expect(): void {
    for (const fault of Object.keys(this.#world.mix.faults) as Fault[]) this.#expect(fault);
  }

  end(): void {
    this.#isOver = true;
    for (const machine of this.#world.machines.values()) machine.recover();
  }

  #expect(fault: Fault): void {
    const { mix, random, timeline } = this.#world;
    const rate = mix.faults[fault];
    if (rate === 0) return;
    timeline.after(random.below(200_000 / rate), () => {
      if (this.#isOver) return;
      this.#happen[fault]();
      this.#expect(fault);
    });
  }

  readonly #happen: Record<Fault, () => void> = {
    crash: () => {
      const node = this.#anyNode();
      if (node) this.#world.crash(node, "by itself");
    },
    freeze: () => {
      const { random, timeline, trace } = this.#world;
      const node = this.#anyNode();
      if (!node) return;
      const ms = random.below(random.pick([3000, LONGEST_FREEZE_MS]));
      trace.note(`${node.name} freezes for ${ms} ms`);
      node.freeze(ms);
      const trouble = this.#world.trouble();
      timeline.after(ms, () => {
        trouble.to = timeline.elapsed;
      });
    },
    leave: () => {
      const { trace, fell } = this.#world;
      const node = this.#anyNode();
      if (!node) return;
      trace.note(`${node.name} leaves`);
      const trouble = this.#world.trouble();
      void node.leave().then(
        () => {
          trouble.to = this.#world.timeline.elapsed;
          if (!node.life.isDead) fell.call(this.#world, node.seat);
        },
        (error: unknown) => trace.broken(`${node.name} cannot leave: ${(error as Error).stack}`),
      );
    },
    powerOff: () => {
      const { random, timeline, trace, seats } = this.#world;
      const seat = random.pick(seats);
      const { machine } = seat;
      if (!machine.isOn) return;
      trace.note(`${machine.id} loses power`);
      const trouble = this.#world.trouble();
      machine.powerOff();
      this.#world.fell(seat);
      timeline.after(1000 + random.below(random.pick([5000, 50_000])), () => {
        trouble.to = timeline.elapsed;
        if (machine.isOn) return;
        trace.note(`${machine.id} has power again`);
        machine.powerOn();
        this.#world.start(seat);
      });
    },
    storeDown: () => {
      const { random, timeline, trace } = this.#world;
      if (this.#world.isStoreDown) return;
      trace.note("the store is away");
      const trouble = this.#world.trouble();
      this.#world.isStoreDown = true;
      timeline.after(random.below(BAD_TIME_MS), () => {
        this.#world.isStoreDown = false;
        trouble.to = timeline.elapsed;
        trace.note("the store is back");
      });
    },
    jump: () => {
      const { random, trace, seats } = this.#world;
      const seat = random.pick(seats);
      const ms = random.below(2 * LONGEST_JUMP_MS) - LONGEST_JUMP_MS;
      trace.note(`the clock of ${seat.name} jumps by ${ms} ms`);
      seat.watch.aheadMs += ms;
    },
    programEnds: () => {
      const { random } = this.#world;
      const run = random.pick(this.#anyMachine().running);
      run?.instance.exit({ code: random.below(2) });
    },
    startsFail: () => {
      const machine = this.#anyMachine();
      machine.refusal = "the driver has a bad time";
      this.#later(() => {
        machine.refusal = undefined;
      });
    },
    slowStarts: () => {
      const machine = this.#anyMachine();
      machine.setStartMs(this.#world.random.below(6000));
      this.#later(() => machine.setStartMs(0));
    },
    evict: () => {
      const machine = this.#anyMachine();
      const run = this.#world.random.pick(machine.running);
      run?.instance.exit({ signal: "SIGKILL", isLost: true, reason: "something more important needs the place" });
    },
  };

  #later(action: () => void): void {
    const { timeline, random } = this.#world;
    timeline.after(random.below(BAD_TIME_MS), action);
  }

  #anyNode() {
    return this.#world.random.pick(this.#world.nodesUp());
  }

  #anyMachine(): SimulatedMachine {
    return this.#world.random.pick([...this.#world.machines.values()]);
  }
}
