/** What every Compute guarantees about executions inside an instance. */
import { text } from "node:stream/consumers";
import { describe, expect, type TestContext, test } from "vitest";
import { whyLacking } from "./abilities.ts";
import { ended, linesOf, type OpenedCompute, openWorld, type Step, type World } from "./conformance-world.ts";
import { type ExecSpec, type Execution, HANG_UP_MS, MOST_EXECUTIONS } from "./execution.ts";
import { ExecRefused } from "./refusal.ts";

const STAYS: readonly Step[] = [{ write: "ready\n" }, { stayUntilAsked: 0 }];
const TERMINAL = { columns: 100, rows: 30 };
const MB = 1_048_576;

/** Starts an instance that stays, in which a test runs programs. */
async function openInstance(
  context: TestContext,
  open: () => Promise<OpenedCompute>,
  more: Parameters<World["start"]>[1] = {},
) {
  const world = await openWorld(open);
  if (!world.compute.exec) {
    await world[Symbol.asyncDispose]();
    context.skip(whyLacking(world.compute, "exec"));
  }
  const id = await world.start(STAYS, more);
  await linesOf(world.compute, id, { limit: 1 });
  const exec = (steps: readonly Step[], spec: Partial<ExecSpec> = {}) =>
    world.compute.exec!.run(id, { cmd: world.command(steps), ...spec });
  return {
    world,
    id,
    exec,
    /** Runs a program until it ends. */
    async run(steps: readonly Step[], spec: Partial<ExecSpec> = {}, input = "") {
      const execution = await exec(steps, spec);
      if (!spec.terminal) execution.stdin.end(input);
      const [out, errors, exit] = await Promise.all([text(execution.stdout), text(execution.stderr), execution.exit]);
      return { out, errors, exit };
    },
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  };
}

/** Returns what a program writes, up to the wanted text. */
async function heard(execution: Execution, wanted: string): Promise<string> {
  let all = "";
  for await (const chunk of execution.stdout.iterator({ destroyOnReturn: false })) {
    all += chunk;
    if (all.includes(wanted)) break;
  }
  expect(all).toContain(wanted);
  return all;
}

/** Whether the execution ends before `meanwhile` does. */
const hasEnded = (execution: Execution, meanwhile: Promise<unknown>) =>
  Promise.race([execution.exit.then(() => true), meanwhile.then(() => false)]);

export function execConformance(name: string, open: () => Promise<OpenedCompute>): void {
  describe.concurrent(`${name} runs further programs in an instance`, () => {
    test("with the variables of the instance and its own, in the same folder, and tells their streams apart", async (context) => {
      await using instance = await openInstance(context, open, { env: { MINE: "it's\nmine", BOTH: "the instance's" } });
      const steps: Step[] = [
        ...["MINE", "BOTH", "GIVEN"].map((writeVariable) => ({ writeVariable })),
        { writeFolder: true },
        { writeSize: "once" },
        { writeError: "wrong\n" },
        { exit: 7 },
      ];
      const { out, errors, exit } = await instance.run(steps, { env: { BOTH: "its own", GIVEN: "$HOME 'x'" } });
      const variables = ["it's\nmine", "its own", "$HOME 'x'"].map((value) => JSON.stringify(value));
      expect(out.split("\n")).toEqual([...variables, instance.world.folder, "none", ""]);
      expect([errors, exit]).toEqual(["wrong\n", expect.objectContaining({ code: 7 })]);
    });

    test("in the next process of the server too; those of the last one are hung up", async (context) => {
      await using instance = await openInstance(context, open, { env: { MINE: "kept" } });
      const left = await instance.exec([{ write: "up\n" }, { stayUntilAsked: 0 }]);
      await heard(left, "up");
      await instance.world.reopen();
      expect(await left.exit).toMatchObject({ code: null, signal: "SIGHUP" });
      expect((await instance.run([{ writeVariable: "MINE" }])).out).toBe('"kept"\n');
    });

    test("what is sent to it arrives unchanged and to its end, and so does what it sends", async (context) => {
      await using instance = await openInstance(context, open);
      const input = "0123456789abcde\n".repeat(MB / 8);
      const { out, exit } = await instance.run([{ echoInput: true }], {}, input);
      expect([out === input, exit]).toEqual([true, expect.objectContaining({ code: 0 })]);
    });

    test("a program that a signal ended has no code; it can be sent one", async (context) => {
      await using instance = await openInstance(context, open);
      expect((await instance.run([{ kill: "SIGKILL" }])).exit).toMatchObject({ code: null, signal: "SIGKILL" });
      const asked = await instance.exec([{ write: "up\n" }, { stayUntilAsked: 5 }]);
      await heard(asked, "up");
      if (!asked.signal) return context.skip("this driver sends no signals");
      await asked.signal("SIGTERM");
      expect(await asked.exit).toMatchObject({ code: 5 });
      await asked.signal("SIGTERM");
    });

    test("one that is not there, or whose folder is not, has the code 126 or 127", async (context) => {
      await using instance = await openInstance(context, open);
      for (const spec of [{ cmd: ["/no/such/program"] }, { cmd: ["nosuch"] }, { cwd: "/no/such/folder" }])
        expect([126, 127]).toContain((await instance.run([{ exit: 0 }], spec)).exit.code);
    });

    test("a program waits for who reads what it writes", async (context) => {
      await using instance = await openInstance(context, open);
      const writes = await instance.exec([{ write: "x".repeat(1024), times: 16 * 1024 }]);
      writes.stderr.resume();
      expect(await hasEnded(writes, instance.run([]))).toBe(false);
      expect(writes.stdout.readableLength).toBeLessThan(MB);
      expect((await text(writes.stdout)).length).toBe(16 * MB);
      expect(await writes.exit).toMatchObject({ code: 0 });
    });

    test("who writes waits for a program that does not read", async (context) => {
      await using instance = await openInstance(context, open);
      const deaf = await instance.exec([{ write: "up\n" }, { stayUntilAsked: 0 }]);
      await heard(deaf, "up");
      let isTaken = false;
      // More than what the connections on the way to a cluster hold.
      deaf.stdin.write(Buffer.alloc(64 * MB), () => {
        isTaken = true;
      });
      await instance.run([]);
      expect(isTaken).toBe(false);
      deaf.close();
      await deaf.exit;
    });

    describe("on a terminal", () => {
      test("of the size that it is given, and later of another, it reads what is typed up to the end", async (context) => {
        await using instance = await openInstance(context, open);
        const sized = await instance.exec([{ writeSize: "always" }], { terminal: TERMINAL });
        await heard(sized, "100x30\r\n");
        await sized.resize({ columns: 120, rows: 40 });
        await heard(sized, "120x40");
        sized.close();
        await sized.exit;
        const typed = await instance.exec([{ write: "up\n" }, { echoInput: true }, { exit: 3 }], {
          terminal: TERMINAL,
        });
        await heard(typed, "up");
        typed.stdin.write("typed\n");
        await heard(typed, "typed");
        typed.stdin.end();
        expect(await text(typed.stderr)).toBe("");
        typed.stdout.resume();
        expect(await typed.exit).toMatchObject({ code: 3 });
      });

      test("its errors come with the rest", async (context) => {
        await using instance = await openInstance(context, open);
        const { out } = await instance.run([{ writeError: "wrong\n" }, { exit: 0 }], { terminal: TERMINAL });
        expect(out).toContain("wrong\r\n");
      });
    });

    test("a caller that goes away takes it along, also one that does not hear that it is hung up", async (context) => {
      await using instance = await openInstance(context, open);
      for (const terminal of [undefined, TERMINAL]) {
        const spec = terminal && { terminal };
        const hears = await instance.exec([{ write: "up\n" }, { stayWhateverIsAsked: true }], spec);
        const ignores: Step[] = [{ ignoreHangUp: true }, { write: "up\n" }, { stayWhateverIsAsked: true }];
        const deaf = await instance.exec(ignores, spec);
        for (const execution of [hears, deaf]) {
          await heard(execution, "up");
          execution.close();
          execution.close();
        }
        expect(await hears.exit).toMatchObject({ code: null, signal: "SIGHUP" });
        await instance.world.pass(HANG_UP_MS);
        expect(await deaf.exit).toMatchObject({ code: null, signal: "SIGKILL" });
      }
    });

    test("it ends with the instance", async (context) => {
      await using instance = await openInstance(context, open);
      const { compute } = instance.world;
      const deaf = [{ ignoreHangUp: true }, { write: "up\n" }, { stayWhateverIsAsked: true }] satisfies Step[];
      const [one, two] = [await instance.exec(deaf), await instance.exec(deaf, { terminal: TERMINAL })];
      for (const execution of [one, two]) await heard(execution, "up");
      await compute.stop(instance.id, 10_000);
      for (const execution of [one, two]) expect(await execution.exit).toMatchObject({ code: null });
      expect(
        await instance.world.remains(instance.id).then((all) => all.filter((one) => one.startsWith("process"))),
      ).toEqual([]);
    });

    test("what it takes is counted in what the instance may have", async (context) => {
      await using instance = await openInstance(context, open, { limits: { vcpu: 1, memoryMb: 192, diskGb: 1 } });
      if (!instance.world.compute.facts.limits) return context.skip("this driver cannot limit here");
      const { out, exit } = await instance.run([{ takeMemoryMb: 256 }, { write: "got it\n" }]);
      expect([out, exit]).toEqual(["", expect.objectContaining({ code: null, signal: "SIGKILL" })]);
    });

    describe("is refused with the reason", () => {
      async function refused(exec: Promise<Execution>): Promise<string> {
        const refusal = await exec.then(
          () => undefined,
          (error: unknown) => error,
        );
        expect(refusal).toBeInstanceOf(ExecRefused);
        return (refusal as ExecRefused).message;
      }

      test("for an instance that never was, has ended or is frozen", async (context) => {
        await using instance = await openInstance(context, open);
        const { compute } = instance.world;
        expect(await refused(compute.exec!.run("unknown", { cmd: ["true"] }))).toMatch(/no instance unknown/);
        if (compute.freezing) {
          await compute.freezing!.freeze(instance.id);
          expect(await refused(instance.exec([]))).toMatch(/frozen/);
        }
        await compute.stop(instance.id, 10_000);
        expect(await refused(instance.exec([]))).toMatch(/ended/);
        const gone = await instance.world.start([{ exit: 0 }]);
        await ended(compute, gone);
        expect(await refused(compute.exec!.run(gone, { cmd: ["true"] }))).toMatch(/ended/);
      });

      test("for what cannot be run anywhere", async (context) => {
        await using instance = await openInstance(context, open);
        const odd: Partial<ExecSpec>[] = [
          { cmd: [] },
          { cmd: ["a\0b"] },
          { cmd: ["x".repeat(200_000)] },
          { env: { "no-name": "x" } },
          { cwd: "relative" },
          { terminal: { columns: 0, rows: 24 } },
        ];
        for (const spec of odd) expect(await refused(instance.exec([], spec))).not.toBe("");
      });

      test("for more at once than an instance may have", async (context) => {
        await using instance = await openInstance(context, open);
        const cmd = ["sleep", "600"];
        const all = await Promise.all(Array.from({ length: MOST_EXECUTIONS }, () => instance.exec([], { cmd })));
        expect(await refused(instance.exec([], { cmd }))).toContain(String(MOST_EXECUTIONS));
        await instance.world.compute.remove(instance.id);
        await Promise.all(all.map(({ exit }) => exit));
      });
    });
  });
}
