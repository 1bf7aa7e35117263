/** A server reduced to its driver, in a process that a test can kill. It starts one instance for each line of its input. */
import { createInterface } from "node:readline";
import { HostCompute } from "./host-compute.ts";
import { hostDefaults } from "./host-world.ts";

const [data, watchdogS, leave] = process.argv.slice(2);
const compute = await HostCompute.open({
  ...hostDefaults(data!),
  watchdogS: Number(watchdogS),
  unsandboxed: leave === "unsandboxed",
});
process.stdout.write("open\n");

for await (const line of createInterface({ input: process.stdin })) {
  const { id, spec, exec } = JSON.parse(line);
  if (exec) {
    const execution = await compute.exec!.run(id, exec);
    execution.stdout.once("data", () => process.stdout.write(`running in ${id}\n`));
    continue;
  }
  // Not awaited, so that several starts are under way when the process is killed.
  compute.start(id, spec).then(
    () => process.stdout.write(`started ${id}\n`),
    (error: Error) => process.stdout.write(`refused ${id} ${error.message}\n`),
  );
}
