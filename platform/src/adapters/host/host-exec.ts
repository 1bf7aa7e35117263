/** The part of the host driver that runs more programs inside its instances. */
import type { Clock } from "../../kernel/clock.ts";
import { floating } from "../../kernel/floating.ts";
import { checkExec, type ExecSpec, type Execution, Executions } from "../../ports/compute/execution.ts";
import { APP } from "../../ports/compute/mount-paths.ts";
import { ExecRefused } from "../../ports/compute/refusal.ts";
import { folderIn } from "../machine/host-image.ts";
import { find } from "../machine/tools.ts";
import type { Cgroups } from "./cgroups.ts";
import { type ExecTools, execInside } from "./exec.ts";
import type { HostInstance } from "./host-instance.ts";
import type { Launcher } from "./launcher.ts";

export interface HostExecParts {
  launcher: Launcher;
  cgroups: Cgroups | undefined;
  clock: Clock;
}

export class HostExec {
  readonly #tools: ExecTools | { cannot: string };
  readonly #cgroups: Cgroups | undefined;
  readonly #executions = new Executions();
  readonly #ending = new WeakSet<HostInstance>();

  private constructor(tools: ExecTools | { cannot: string }, cgroups: Cgroups | undefined) {
    this.#tools = tools;
    this.#cgroups = cgroups;
  }

  static async open({ launcher, cgroups, clock }: HostExecParts): Promise<HostExec> {
    return new HostExec(await toolsOf(launcher, clock), cgroups);
  }

  /** Why no program can be run; undefined where programs can. */
  get cannot(): string | undefined {
    return "cannot" in this.#tools ? this.#tools.cannot : undefined;
  }

  exec(id: string, instance: HostInstance | undefined, spec: ExecSpec): Promise<Execution> {
    return this.#executions.run(id, async () => {
      checkExec(spec);
      if ("cannot" in this.#tools) throw new ExecRefused(this.#tools.cannot);
      if (!instance) throw new ExecRefused(`no instance ${id}`);
      const { state } = instance.view();
      if (state === "frozen") throw new ExecRefused(`instance ${id} is frozen: thaw it first`);
      const processes = state === "exited" ? undefined : await instance.firstProcesses();
      if (!processes) throw new ExecRefused(`instance ${id} has ended`);
      const folder = this.#tools.sandbox ? APP : (folderIn(instance.kept.image) ?? "/");
      const place = { id, ...processes, kept: instance.folder.path, cgroups: this.#cgroups?.folders(id) ?? [], folder };
      const execution = await execInside(this.#tools, place, spec);
      this.#endWith(instance);
      return execution;
    });
  }

  /** Ends the executions together with their instance. Without a control group they would not be found with the instance's program. */
  #endWith(instance: HostInstance): void {
    if (this.#ending.has(instance)) return;
    this.#ending.add(instance);
    floating(
      instance.whenEnded.then(() => this.#executions.close(instance.id)),
      () => {},
    );
  }

  close(): void {
    this.#executions.close();
  }
}

async function toolsOf(launcher: Launcher, clock: Clock): Promise<ExecTools | { cannot: string }> {
  const { prefix, bubblewrap, filter } = launcher.tools;
  if (bubblewrap === undefined) return { prefix, clock };
  if (!launcher.changesUser) return { cannot: "a server that is not root cannot enter the sandboxes that it made" };
  const nsenter = await find("nsenter");
  if (!nsenter) return { cannot: "nsenter not found: install it (apt-get install util-linux)" };
  return { prefix, clock, sandbox: { nsenter, bubblewrap, filter } };
}
