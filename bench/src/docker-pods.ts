/** Measures Pods in containers, on a Docker engine of its own. This is a separate program, see `pods.ts`. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { importImage, startEngine } from "../../platform/tests/docker-engine.ts";
import { bareDocker } from "./bare-docker.ts";
import { startMillrace } from "./millrace.ts";
import { FIRST_LINE, measurePods } from "./pod-starts.ts";

const IMAGE = "millrace-bench";

const { name, folder, quick, result } = JSON.parse(process.argv[2]!) as {
  name: string;
  folder: string;
  quick: boolean;
  /** The file for the result. */
  result: string;
};

await using opened = new AsyncDisposableStack();
const data = await mkdtemp(join(folder, "docker-pods-"));
opened.defer(() => rm(data, { recursive: true, force: true }));
const engine = opened.use(await startEngine());
await importImage(engine, IMAGE);
const running = opened.use(await startMillrace(data, { compute: "host", docker: engine.socket }));
const [entrypoint, ...args] = FIRST_LINE;
const starts = await measurePods({
  name,
  running,
  program: { image: IMAGE, cmd: args, ...{ entrypoint: [entrypoint!] } },
  bare: [...(await bareDocker(engine)), "--entrypoint", "sh", IMAGE, "-c", "echo up"],
  quick,
  say: (line) => console.log(line),
});
await writeFile(result, JSON.stringify(starts));
