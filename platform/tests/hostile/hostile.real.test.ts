/** While one account does its worst, another one notices nothing. Each scene runs on one server beside a witness. */
import { afterAll, beforeAll, describe, expect, onTestFailed, test } from "vitest";
import { stay } from "../../src/kernel/clock.ts";
import { allScenes } from "./scenes.ts";
import { openStage, play, type Stage } from "./stage.ts";
import { type Testimony, worstRatio } from "./witness.ts";

const RATIO = 3;
/** Beside other tests on a busy machine every answer is slow, which is no stall of the server. A stall takes longer than this. */
const NOTICEABLE_MS = 3000;

let stage: Stage;
let idle: Testimony;

beforeAll(async () => {
  stage = await openStage();
  idle = await stage.witness.watch(stay(1000));
});

afterAll(async () => {
  await stage?.[Symbol.asyncDispose]();
});

describe("beside a witness", async () => {
  for (const scene of await allScenes())
    test(scene.name, async () => {
      onTestFailed(() => console.log(stage.server.log().slice(-5000)));
      const { failures, seen, requests } = await stage.witness.watch(play(scene, stage));
      const worst = worstRatio(idle, { failures, seen, requests });
      expect(failures).toEqual([]);
      if (worst.p99 > NOTICEABLE_MS) expect(worst.ratio, worst.kind).toBeLessThan(RATIO);
      expect(stage.server.process.exitCode).toBeNull();
    });
});
