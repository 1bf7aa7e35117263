/** `millrace check` without a path: says what a Kubernetes cluster lacks for Millrace, and how to get it. */
import { kubernetesSettings } from "@millrace/platform/settings/kubernetes-settings.ts";
import { settingsFrom } from "@millrace/platform/settings/settings.ts";
import type { Command } from "commander";
import { showFindings } from "./findings.ts";
import type { Shell } from "./shell.ts";

export interface ClusterFlags {
  json?: boolean;
}

const FLAGS = [
  ...Object.values(kubernetesSettings),
  {
    flag: "worker-url",
    variable: "MILLRACE_WORKER_URL",
    value: "URL",
    about: "address at which Pods reach the server",
  },
];

export function withClusterFlags(command: Command): Command {
  for (const { flag, variable, value, about } of FLAGS)
    command.option(`--${flag} <${value}>`, `${about} (${variable})`);
  return command;
}

const camel = (flag: string) => flag.replaceAll(/-(.)/g, (_, letter: string) => letter.toUpperCase());

export async function checkCluster(shell: Shell, options: ClusterFlags): Promise<void> {
  const { openClusterChecks } = await import("@millrace/platform/composition/kubernetes-machine.ts");
  const names = FLAGS.map(({ flag }) => camel(flag));
  const given = Object.entries(options).filter(([name]) => names.includes(name));
  const settings = settingsFrom({ ...shell.env }, Object.fromEntries(given));
  using cluster = await openClusterChecks(settings, shell.clock);
  await showFindings(shell, cluster.checks, options.json === true);
}
