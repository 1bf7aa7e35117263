/** The small process beside a server that has grown: starts what it is asked to, and tells of ends. */
import type { Answer, Order } from "./forker.ts";
import { runToEnd, startProgram } from "./start-program.ts";

const say = (answer: Answer) => {
  // A server that is gone meanwhile hears nothing, and this process ends with the line to it: that it could not be told is no fault.
  if (process.connected) process.send!(answer, undefined, undefined, () => {});
};

async function carryOut(order: Order): Promise<void> {
  const { number } = order;
  if ("tool" in order) return say({ number, printed: await runToEnd(order.tool) });
  const { pid, ended } = await startProgram(order.program);
  say({ number, pid });
  await ended;
  say({ number, ended: true });
}

process.on("message", (order: Order) => {
  carryOut(order).catch(({ message, code }: NodeJS.ErrnoException) =>
    say({ number: order.number, failed: { message, code } }),
  );
});

process.on("disconnect", () => process.exit());
