/** The small process beside a server with much memory. It starts programs for the server and reports their ends. */
import type { Answer, Order } from "./forker.ts";
import { runToEnd, startProgram } from "./start-program.ts";

const say = (answer: Answer) => {
  // If the server is gone, this process ends with its channel. A message that could not be sent then is no error.
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
