/** The writer's thread: owns the writing connection and answers one message at a time. */
import { parentPort, workerData } from "node:worker_threads";
import { SmallHeap } from "../../kernel/collector.ts";
import { program as queue } from "./queue-program.ts";
import { program as store } from "./store-program.ts";
import { BatchRunner, type Command, converted, type Program, type ProgramName } from "./writer.ts";

type Message = { batch: Command[] } | { checkpoint: true } | { close: true };

const { file, program: name } = workerData as { file: string; program: ProgramName };
const program: Program = { queue, store }[name];
const { wire } = program;
const runner = new BatchRunner(file, program);
const port = parentPort!;
const heap = new SmallHeap();

port.on("message", (message: Message) => {
  if ("batch" in message) port.postMessage(runner.run(wire ? converted(message.batch, wire.unpack) : message.batch));
  else if ("checkpoint" in message) port.postMessage(runner.checkpoint());
  else {
    runner.close();
    port.close();
  }
  heap.tidy();
});
port.postMessage("ready");
