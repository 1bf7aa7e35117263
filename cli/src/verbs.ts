/** The verbs of the command line: what each is for, and the file that does it. */
import { groups } from "./groups.ts";
import type { Shell } from "./shell.ts";
import type { Verb } from "./verb.ts";

/** In the order of the help. */
export const verbs: readonly Verb[] = [
  {
    name: "serve",
    about: "run the server",
    load: async (shell) => (await import("./serve.ts")).serveCommand(shell),
  },
  {
    name: "dev",
    about: "run your own handler here, with new code after each save",
    load: async (shell) => (await import("./dev.ts")).devCommand(shell),
  },
  {
    name: "deploy",
    about: "make an endpoint of a folder or an image, or a new release of it",
    load: async (shell) => (await import("./deploy.ts")).deployCommand(shell),
  },
  {
    name: "open",
    about: "sign in to the console; works while the server runs",
    load: async ({ env }) => (await import("./open.ts")).openCommand(env),
  },
  {
    name: "login",
    about: "sign in to a server, and keep its address and a key for it as a profile",
    load: async (shell) => (await import("./login.ts")).loginCommand(shell),
  },
  {
    name: "logout",
    about: "forget a profile and its key, and end its session",
    load: async (shell) => (await import("./login.ts")).logoutCommand(shell),
  },
  {
    name: "profiles",
    about: "list the profiles that 'login' has made",
    load: async (shell) => (await import("./login.ts")).profilesCommand(shell),
  },
  {
    name: "use",
    about: "use another profile from now on",
    load: async (shell) => (await import("./login.ts")).useCommand(shell),
  },
  {
    name: "keys",
    about: "create, list and revoke API keys, of a data folder or of a server",
    load: async (shell) => (await import("./keys.ts")).keysCommand(shell),
  },
  {
    name: "accounts",
    about: "create, list and delete accounts; works while the server runs",
    load: async () => (await import("./accounts.ts")).accountsCommand(),
  },
  {
    name: "prices",
    about: "show and set prices; works while the server runs",
    load: async () => (await import("./prices.ts")).pricesCommand(),
  },
  {
    name: "master-key",
    about: "the key that protects all secrets",
    load: async () => (await import("./master-key.ts")).masterKeyCommand(),
  },
  {
    name: "backup",
    about: "write everything of a data folder into one file; works while the server runs",
    load: async () => (await import("./backup.ts")).backupCommand(),
  },
  {
    name: "restore",
    about: "put a backup into an empty data folder",
    load: async () => (await import("./restore.ts")).restoreCommand(),
  },
  {
    name: "check",
    about: "verify a backup file, a data folder, or without either a Kubernetes cluster; changes nothing",
    load: async (shell) => (await import("./check.ts")).checkCommand(shell),
  },
  {
    name: "worker-env",
    about: "print the variables for a worker of an endpoint, started by hand",
    load: async () => (await import("./worker-env.ts")).workerEnvCommand(),
  },
  {
    name: "run",
    about: "submit a job to an endpoint, and print what it returns",
    load: async (shell) => (await import("./run.ts")).runCommand(shell),
  },
  {
    name: "logs",
    about: "print the log of a Pod, an endpoint, a worker or a job, and follow it with -f",
    load: async (shell) => (await import("./logs.ts")).logsCommand(shell),
  },
  {
    name: "ps",
    about: "list what runs: Pods, endpoints and their workers",
    load: async (shell) => (await import("./ps.ts")).psCommand(shell),
  },
  {
    name: "top",
    about: "show queues, workers, Pods and GPUs, live; q ends it",
    load: async (shell) => (await import("./top.ts")).topCommand(shell),
  },
  {
    name: "ssh",
    about: "open a shell in a Pod by ssh, or run a command in it",
    load: async (shell) => (await import("./ssh.ts")).sshCommand(shell),
  },
  ...groups.map((group) => ({
    name: group.name,
    about: group.about,
    load: async (shell: Shell, asked?: string) => (await import("./derived.ts")).groupCommand(group, shell, asked),
  })),
  {
    name: "import",
    about: "carry templates, endpoints, Pods, volumes and credentials over from another server",
    load: async (shell) => (await import("./import.ts")).importCommand(shell),
  },
  {
    name: "mcp",
    about: "serve Millrace to agents and editors, as tools of the Model Context Protocol",
    load: async (shell) => (await import("./mcp.ts")).mcpCommand(shell),
  },
  {
    name: "exec",
    about: "run a program in a Pod, or in a worker of an endpoint; needs a key with pods:exec or serverless:exec",
    load: async (shell) => (await import("./exec.ts")).execCommand(shell),
  },
  {
    name: "doctor",
    about: "check this machine, and say how to fix what is wrong",
    load: async (shell) => (await import("./doctor.ts")).doctorCommand(shell),
  },
  {
    name: "upgrade",
    about: "say which version is newer, and how to get it",
    load: async (shell) => (await import("./upgrade.ts")).upgradeCommand(shell),
  },
  {
    name: "completion",
    about: "print the script that completes verbs, flags and ids in a shell",
    load: async (shell) => (await import("./completion.ts")).completionCommand(shell),
  },
  {
    name: "complete-words",
    about: "print what can come next on a command line; for the scripts of 'completion'",
    isHidden: true,
    load: async (shell) => (await import("./completion.ts")).completeWordsCommand(shell, verbs),
  },
];

/** The verb of a command line and the word behind it, also for `help keys`. */
export function askedFor(args: readonly string[]): (string | undefined)[] {
  const words = args.filter((arg) => !arg.startsWith("-"));
  return words[0] === "help" ? words.slice(1, 3) : words.slice(0, 2);
}
