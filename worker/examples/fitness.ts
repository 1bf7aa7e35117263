/** Fitness: checks run before the first job. A worker that fails one reports it and ends before it can spoil a job. */
import { access } from "node:fs/promises";
import { start } from "millrace-worker";

start({
  fitness: { model: () => access(process.env.MODEL ?? "model.bin") },
  handler: () => "fit",
});
