/** One run of `millrace dev`: a server with an endpoint for the handler, which gets new workers whenever a file is saved. */
import type { Clock } from "@millrace/platform/kernel/clock.ts";
import { floating } from "@millrace/platform/kernel/floating.ts";
import { endpointOperations } from "@millrace/platform/resources/endpoints/operations.ts";
import { anyGpu } from "../any-gpu.ts";
import { ApiClient } from "../api.ts";
import type { EndpointFields } from "../deploy/config.ts";
import type { Shell } from "../shell.ts";
import { Changes } from "./changes.ts";
import { programOf } from "./program.ts";
import { configuredProject, type Project } from "./project.ts";
import type { Program } from "./python.ts";
import { Screen } from "./screen.ts";
import { loadServer, startDevServer, stopPods } from "./server.ts";
import { TEST_INPUT, TestInput } from "./test-input.ts";
import { WorkersFollowed } from "./workers-followed.ts";

export interface DevOptions {
  data?: string | undefined;
  port?: string | undefined;
  logLevel?: string | undefined;
  /** GPUs of each worker; without any it gets processors alone. */
  gpu?: number | undefined;
  env: Record<string, string>;
  /** Whether `test_input.json` is run at the start and after each save. */
  test: boolean;
}

/** A change of it is a new release, so that the platform replaces the workers: idle ones at once, and busy ones after their job. */
const RELOADED = "MILLRACE_RELOADED_AT";
const CPU = [{ id: "cpu3c", vcpuCount: 2 }];
const MOST_WORKERS = 3;

export class DevSession implements AsyncDisposable {
  readonly #project: Project;
  readonly #program: Program;
  /** The fields of `millrace.yaml` that concern how the handler runs. */
  readonly #config: EndpointFields;
  readonly #options: DevOptions;
  readonly #screen: Screen;
  readonly #clock: Clock;
  readonly #opened = new AsyncDisposableStack();
  readonly #ended = new AbortController();
  #reloading: Promise<void> = Promise.resolve();

  private constructor(
    { project, program, fields }: { project: Project; program: Program; fields: EndpointFields },
    options: DevOptions,
    shell: Pick<Shell, "stdout" | "clock">,
  ) {
    this.#project = project;
    this.#program = program;
    this.#config = fields;
    this.#options = options;
    this.#screen = new Screen(shell.stdout);
    this.#clock = shell.clock;
  }

  static async open(
    named: string | undefined,
    options: DevOptions,
    shell: Pick<Shell, "env" | "stdout" | "clock">,
  ): Promise<DevSession> {
    // This takes longer than everything before it, so it begins now.
    floating(loadServer(), () => {});
    const { project, fields } = await configuredProject(named);
    const session = new DevSession({ project, program: await programOf(project, shell.env), fields }, options, shell);
    try {
      await session.#start();
      return session;
    } catch (error) {
      await session[Symbol.asyncDispose]();
      throw error;
    }
  }

  async #start(): Promise<void> {
    const begun = this.#clock.monotonic();
    const { folder } = this.#project;
    const server = this.#opened.use(
      await startDevServer(this.#project, { ...this.#options, readable: this.#program.readable }),
    );
    const client = new ApiClient({ url: server.url, key: server.key, from: "millrace dev" });
    this.#opened.defer(() => stopPods(client));
    const endpoint = await this.#makeEndpoint(client);
    const parts = { client, screen: this.#screen, clock: this.#clock, endpoint };
    const workers = this.#opened.use(new WorkersFollowed(parts));
    const test = new TestInput({ ...parts, folder, signal: this.#ended.signal });
    this.#introduce(client, endpoint, server, this.#clock.monotonic() - begun);
    const failed = (error: Error) => this.#screen.trouble(`cannot watch for changes any longer: ${error.message}`);
    const changed = (paths: string[]) => {
      const again = () => this.#reload(client, endpoint, workers, test, paths);
      this.#reloading = this.#reloading.then(again).catch((error: Error) => this.#screen.trouble(error.message));
    };
    this.#opened.use(new Changes({ folder, clock: this.#clock, changed, failed }));
    if (this.#options.test) this.#run(test);
    const readyAfter = workers.ready.then(() => this.#clock.monotonic() - begun);
    floating(
      readyAfter.then((ms) => this.#screen.note(`first worker ready after ${seconds(ms)}`)),
      () => {},
    );
  }

  /** The endpoint of an earlier run keeps its id and its jobs. */
  async #makeEndpoint(client: ApiClient): Promise<string> {
    const { endpoints } = await client.call(endpointOperations.listEndpoints);
    const { name, folder } = this.#project;
    const gpu = (this.#config.gpu as object | undefined) ?? (this.#options.gpu && (await anyGpu(client)));
    const known = endpoints.find((one) => one.name === name && (one.gpu === undefined) === !gpu);
    // An endpoint cannot change from processors to GPUs, and two with the same handler would confuse.
    for (const other of endpoints)
      if (other.name === name && other !== known)
        await client.call(endpointOperations.deleteEndpoint, { params: { id: other.id } });
    const body = {
      cmd: this.#program.cmd,
      ...this.#config,
      ...{ name, image: `host:${folder}`, env: this.#env(), workers: { min: 1, max: MOST_WORKERS } },
      ...(gpu && { gpu: { ...gpu, ...(this.#options.gpu && { count: this.#options.gpu }) } }),
      ...(!gpu && !this.#config.cpu && { cpu: CPU }),
    };
    if (!known) return (await client.call(endpointOperations.createEndpoint, { body })).id;
    await client.call(endpointOperations.updateEndpoint, { params: { id: known.id }, body });
    return known.id;
  }

  #env(): Record<string, string> {
    return { ...this.#program.env, ...this.#config.env, ...this.#options.env, [RELOADED]: String(this.#clock.now()) };
  }

  #introduce(
    client: ApiClient,
    endpoint: string,
    server: { data: string; signInLink: string | undefined },
    ms: number,
  ) {
    const { name, handler } = this.#project;
    const url = `${client.target.url}/v2/${endpoint}/runsync`;
    const headers = `-H 'Authorization: Bearer ${client.target.key}' -H 'Content-Type: application/json'`;
    this.#screen.note(`${name}/${handler} with ${this.#program.about}; ready after ${seconds(ms)}`);
    this.#screen.line(`  console   ${server.signInLink ?? client.target.url}`);
    this.#screen.line(`  data      ${server.data}`);
    this.#screen.line(`  try it    curl ${url} ${headers} -d '{"input": {}}'`);
    this.#screen.line("  Save a file to reload, press Ctrl-C to end.");
  }

  async #reload(client: ApiClient, endpoint: string, workers: WorkersFollowed, test: TestInput, paths: string[]) {
    if (this.#ended.signal.aborted) return;
    const isOnlyTest = paths.every((path) => path === TEST_INPUT);
    if (!isOnlyTest) {
      this.#screen.note(`reload: ${paths.slice(0, 3).join(", ")}${paths.length > 3 ? ", …" : ""} changed`);
      workers.reloaded();
      await client.call(endpointOperations.updateEndpoint, { params: { id: endpoint }, body: { env: this.#env() } });
      await workers.replaced();
    }
    if (this.#options.test) this.#run(test);
  }

  #run(test: TestInput): void {
    floating(test.run(), (error) => {
      if (!this.#ended.signal.aborted) this.#screen.trouble((error as Error).message);
    });
  }

  /** Ends the workers and the server. Jobs that are not done go back to the queue, for the next run. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended.abort();
    await this.#opened.disposeAsync();
  }
}

const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
