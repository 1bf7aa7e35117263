/** Starts more programs inside Pods. */
import type { Clock } from "../../kernel/clock.ts";
import { checkExec, type ExecSpec, type Execution, Executions } from "../../ports/compute/execution.ts";
import { ExecRefused } from "../../ports/compute/refusal.ts";
import { type KubeApi, KubeRefused } from "./kube-api.ts";
import { MAIN, type Pod } from "./kube-objects.ts";
import { PodExecution, wrapped } from "./pod-execution.ts";
import { instanceOf } from "./pod-state.ts";

/** The first protocol that can end a program's input. Kubernetes 1.30 and newer have it. */
const PROTOCOL = "v5.channel.k8s.io";
const QUIET_MS = 30_000;

interface Command {
  container: string;
  command: readonly string[];
  terminal?: boolean;
}

export class PodExec {
  readonly #api: KubeApi;
  readonly #clock: Clock;
  readonly #executions = new Executions();
  readonly #hangingUp = new Set<Promise<unknown>>();

  constructor(api: KubeApi, clock: Clock) {
    this.#api = api;
    this.#clock = clock;
  }

  run(id: string, pod: Pod | undefined, spec: ExecSpec): Promise<Execution> {
    return this.#executions.run(id, async () => {
      checkExec(spec);
      if (!pod) throw new ExecRefused(`no instance ${id}`);
      const { state } = instanceOf(pod);
      if (state === "exited" || state === "refused") throw new ExecRefused(`instance ${id} has ended`);
      if (state !== "running") throw new ExecRefused(`instance ${id} has not begun`);
      try {
        const terminal = spec.terminal !== undefined;
        const execution = await this.#begin(pod, { container: MAIN, command: wrapped(spec), terminal });
        if (spec.terminal) await execution.resize(spec.terminal);
        return execution;
      } catch (error) {
        throw error instanceof KubeRefused ? new ExecRefused(error.message, { cause: error }) : error;
      }
    });
  }

  async #begin(pod: Pod, { container, command, terminal = false }: Command): Promise<PodExecution> {
    const { namespace, name } = pod.metadata;
    const path = `/api/v1/namespaces/${namespace}/pods/${name}/exec`;
    const query = { container, command, stdin: true, stdout: true, stderr: !terminal, tty: terminal };
    const socket = await this.#api.connect(path, query, PROTOCOL);
    const kill = async (pid: number, signal: NodeJS.Signals) => {
      await this.quiet(pod, container, `kill -${signal.replace("SIG", "")} ${pid}`);
    };
    const hungUp = (done: Promise<unknown>) => {
      const over = done.finally(() => this.#hangingUp.delete(over));
      over.catch(() => {});
      this.#hangingUp.add(over);
    };
    return new PodExecution(socket, { terminal, clock: this.#clock, kill, hungUp });
  }

  /** Runs a line of the shell to its end, with this text as `$1`. Resolves with its exit code. */
  async quiet(pod: Pod, container: string, line: string, given = ""): Promise<number | null> {
    const cmd = ["/bin/sh", "-c", line, "sh", given];
    const execution = await this.#begin(pod, { container, command: wrapped({ cmd }) });
    const timer = this.#clock.after(QUIET_MS, () => execution.close());
    execution.stdin.end();
    // The shell may be a stranger's, so what it says is not kept.
    for (const stream of [execution.stdout, execution.stderr]) stream.resume();
    const exit = await execution.exit;
    timer.cancel();
    return exit.code;
  }

  /** Resolves when all programs are ended. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#executions.close();
    await Promise.allSettled(this.#hangingUp);
  }
}
