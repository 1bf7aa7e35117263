/** Plays the steps of the conformance suite for executions in instances of the fake driver. */
import type { Step } from "./conformance-world.ts";
import type { FakeExecution } from "./fake-execution.ts";
import type { FakeInstance } from "./fake-instance.ts";

export const FAKE_FOLDER = "/app";

export async function playExecution(program: FakeExecution, instance: FakeInstance): Promise<void> {
  const [first, ...more] = program.spec.cmd;
  if (first === "sleep") return;
  if (!first!.startsWith("[") || more.length > 0) return program.end({ code: 127 });
  if ((program.spec.cwd ?? FAKE_FOLDER) !== FAKE_FOLDER) return program.end({ code: 126 });
  for (const step of JSON.parse(first!) as Step[]) if (!(await playStep(program, instance, step))) return;
  program.end({ code: 0 });
}

/** Returns whether the program continues with the next step. */
async function playStep(program: FakeExecution, instance: FakeInstance, step: Step): Promise<boolean> {
  const line = (text: string) => program.write(program.spec.terminal ? text.replaceAll("\n", "\r\n") : text);
  const sizeText = () => (program.size ? `${program.size.columns}x${program.size.rows}\n` : "none\n");
  if ("write" in step) for (let times = step.times ?? 1; times > 0; times--) await line(step.write);
  else if ("writeVariable" in step) await line(`${JSON.stringify(program.env[step.writeVariable])}\n`);
  else if ("writeFolder" in step) await line(`${FAKE_FOLDER}\n`);
  else if ("writeError" in step)
    await program.write(program.spec.terminal ? step.writeError.replaceAll("\n", "\r\n") : step.writeError, "stderr");
  else if ("echoInput" in step) for await (const chunk of program.input) await program.write(chunk);
  else if ("fillMb" in step) instance.uses = { ...instance.uses, diskBytes: step.fillMb * 1_048_576 };
  else if ("ignoreHangUp" in step) program.onHangUp = () => {};
  else if ("writeSize" in step) {
    program.onResize = () => void line(sizeText()).catch(() => {});
    await line(sizeText());
    return step.writeSize === "once";
  } else if ("stayUntilAsked" in step) {
    program.onSignal = () => program.end({ code: step.stayUntilAsked });
    return false;
  } else if ("stayWhateverIsAsked" in step) return false;
  else if ("takeMemoryMb" in step && step.takeMemoryMb > instance.spec.limits.memoryMb) {
    program.end({ signal: "SIGKILL" });
    return false;
  } else if ("exit" in step || "kill" in step) {
    program.end("exit" in step ? { code: step.exit } : { signal: step.kill });
    return false;
  }
  return true;
}
