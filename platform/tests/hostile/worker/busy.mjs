/** A program that computes on as many threads as it can and never ends by itself. */
import { Worker } from "node:worker_threads";

for (let i = 0; i < 4; i++) new Worker("for (;;);", { eval: true });
