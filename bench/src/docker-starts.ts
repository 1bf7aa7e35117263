/** Measures starts in containers, on a Docker engine of its own. This is a separate program, see `starts.ts`. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { importImage, startEngine } from "../../platform/tests/docker-engine.ts";
import { bareDocker } from "./bare-docker.ts";
import { startMillrace } from "./millrace.ts";
import { bareProgram, measurePlace, workerProgram } from "./start-waits.ts";

const IMAGE = "millrace-bench";
/** The path of the worker library in the image. */
const LIBRARY = "/worker/main.ts";

const { name, folder, quick, result } = JSON.parse(process.argv[2]!) as {
  name: string;
  folder: string;
  quick: boolean;
  /** The file for the result. */
  result: string;
};

await using opened = new AsyncDisposableStack();
const data = await mkdtemp(join(folder, "docker-starts-"));
opened.defer(() => rm(data, { recursive: true, force: true }));
const engine = opened.use(await startEngine());
await importImage(engine, IMAGE);
const running = opened.use(await startMillrace(data, { compute: "host", docker: engine.socket }));
const inline = (program: string) => ["--input-type=module", "--eval", program];
const starts = await measurePlace({
  name,
  running,
  program: { image: IMAGE, cmd: inline(workerProgram(LIBRARY)) },
  bare: [...(await bareDocker(engine)), IMAGE, ...inline(bareProgram(LIBRARY))],
  quick,
  say: (line) => console.log(line),
});
await writeFile(result, JSON.stringify(starts));
