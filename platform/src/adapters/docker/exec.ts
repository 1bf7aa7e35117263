/** Starts more programs inside containers. */
import type { Clock } from "../../kernel/clock.ts";
import { checkExec, type ExecSpec, type Execution, Executions } from "../../ports/compute/execution.ts";
import { ExecRefused } from "../../ports/compute/refusal.ts";
import type { Container } from "./container.ts";
import { DockerExecution } from "./docker-execution.ts";
import { type EngineApi, EngineRefused } from "./engine-api.ts";

export class DockerExec {
  readonly #clock: Clock;
  readonly #executions = new Executions();
  readonly #hangingUp = new Set<Promise<unknown>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  exec(api: EngineApi, container: Container | undefined, id: string, spec: ExecSpec): Promise<Execution> {
    return this.#executions.run(id, async () => {
      checkExec(spec);
      if (!container) throw new ExecRefused(`no instance ${id}`);
      if (container.State.Paused) throw new ExecRefused(`instance ${id} is frozen: thaw it first`);
      if (!container.State.Running) throw new ExecRefused(`instance ${id} has ended`);
      try {
        return await this.#begin(api, container.Id, spec);
      } catch (error) {
        throw error instanceof EngineRefused ? new ExecRefused(error.message, { cause: error }) : error;
      }
    });
  }

  async #begin(api: EngineApi, container: string, { cmd, env = {}, cwd, terminal }: ExecSpec): Promise<Execution> {
    const Tty = terminal !== undefined;
    const size = terminal && { ConsoleSize: [terminal.rows, terminal.columns] };
    const { Id } = await api.call<{ Id: string }>("POST", `/containers/${container}/exec`, {
      body: {
        AttachStdin: true,
        AttachStdout: true,
        AttachStderr: true,
        Tty,
        ...size,
        Cmd: cmd,
        Env: Object.entries(env).map(([name, value]) => `${name}=${value}`),
        ...(cwd !== undefined && { WorkingDir: cwd }),
      },
    });
    const socket = await api.upgrade("POST", `/exec/${Id}/start`, { Detach: false, Tty, ...size });
    const hungUp = (done: Promise<unknown>) => {
      const over = done.finally(() => this.#hangingUp.delete(over));
      this.#hangingUp.add(over);
    };
    const parts = { api, exec: Id, container, terminal: Tty, clock: this.#clock, hungUp };
    const execution = new DockerExecution(socket, parts);
    // Engines before API version 1.42 ignore a size that is given at the start.
    if (terminal) await execution.resize(terminal).catch(() => {});
    return execution;
  }

  /** Resolves when all programs are ended. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#executions.close();
    await Promise.allSettled(this.#hangingUp);
  }
}
