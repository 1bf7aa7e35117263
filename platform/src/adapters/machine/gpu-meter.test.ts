/** How busy GPUs are: unknown values are absent, and the tool is only asked now and then. */
import { expect, test } from "vitest";
import { FakeClock } from "../../kernel/clock.ts";
import { GpuMeter } from "./gpu-meter.ts";

const gpu = (id: string, virtual = false) => ({ id, type: "NVIDIA L4", virtual });
const MIB = 1_048_576;

function setup(answers: (string | Error)[]) {
  const clock = new FakeClock();
  let asked = 0;
  const meter = new GpuMeter(clock, async () => {
    const answer = answers[Math.min(asked++, answers.length - 1)]!;
    if (answer instanceof Error) throw answer;
    return answer;
  });
  return { clock, meter, asked: () => asked };
}

test("each has what the tool tells of it, and nothing that it does not tell", async () => {
  const { meter } = setup(["GPU-a, 37, 1024, 144384\nGPU-b, [N/A], 12, [Not Supported]\n"]);
  expect(await meter.of([gpu("GPU-a"), gpu("GPU-b"), gpu("GPU-c")])).toEqual([
    { id: "GPU-a", virtual: false, utilisationPercent: 37, memoryBytes: 1024 * MIB, memoryTotalBytes: 144384 * MIB },
    { id: "GPU-b", virtual: false, memoryBytes: 12 * MIB },
    { id: "GPU-c", virtual: false },
  ]);
});

test("for made-up ones and for none the tool is not asked", async () => {
  const { meter, asked } = setup([""]);
  expect(await meter.of([gpu("v", true)])).toEqual([{ id: "v", virtual: true }]);
  expect([await meter.of([]), asked()]).toEqual([[], 0]);
});

test("however often anybody wants to know, the tool is asked each five seconds, and then nobody waits", async () => {
  const { clock, meter, asked } = setup(["GPU-a, 1, 1, 1", "GPU-a, 2, 1, 1"]);
  for (let n = 0; n < 10; n++) await Promise.all([meter.of([gpu("GPU-a")]), meter.of([gpu("GPU-a")])]);
  expect(asked()).toBe(1);
  await clock.advance(5_000);
  expect((await meter.of([gpu("GPU-a")]))[0]).toMatchObject({ utilisationPercent: 1 });
  await clock.advance(0);
  expect((await meter.of([gpu("GPU-a")]))[0]).toMatchObject({ utilisationPercent: 2 });
  expect(asked()).toBe(2);
});

test("a tool that fails tells nothing, until it works again", async () => {
  const { clock, meter } = setup([new Error("driver away"), "GPU-a, 2, 1, 1"]);
  expect(await meter.of([gpu("GPU-a")])).toEqual([{ id: "GPU-a", virtual: false }]);
  await clock.advance(5_000);
  await meter.of([gpu("GPU-a")]);
  await clock.advance(0);
  expect((await meter.of([gpu("GPU-a")]))[0]).toMatchObject({ utilisationPercent: 2 });
});
