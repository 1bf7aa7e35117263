/** `millrace login`, `logout`, `profiles` and `use`: the servers that this person works with. */
import { Command } from "commander";
import { ApiClient } from "./api.ts";
import { askHidden, readAll } from "./ask.ts";
import { Failure, Refusal, wrongUse } from "./failure.ts";
import {
  baseUrl,
  type Config,
  checkedKey,
  DEFAULT_URL,
  localServer,
  type Profile,
  readConfig,
  writeConfig,
} from "./profiles.ts";
import { type Shell, writeLine } from "./shell.ts";

const GET_ME = { method: "GET", path: "/v2/account/me" } as const;
const END_SESSION = { method: "DELETE", path: "/v2/account/sessions/{id}" } as const;

interface Me {
  account: { name: string };
  key: { name: string | null } | null;
  person: { email: string; role: string } | null;
  session: { id: string; expiresAt: string } | null;
}

interface LoginOptions {
  name?: string;
  key?: boolean;
  keyStdin?: boolean;
  json?: boolean;
}

export function loginCommand(shell: Shell): Command {
  return new Command("login")
    .description("sign in to a server, and keep its address and a key for it as a profile")
    .argument("[url]", `where the server is; default: this machine's server, or ${DEFAULT_URL}`)
    .option("--name <name>", "name of the profile; default: the server's host")
    .option("--key", "ask for an API key, instead of showing a code that you approve in the console")
    .option("--key-stdin", "read an API key from standard input")
    .option("--json", "print JSON")
    .addHelpText("after", "\nExample:\n  millrace login https://gpu.example.com --name work")
    .action(async (given: string | undefined, options: LoginOptions) => {
      const { env, stdin, stdout } = shell;
      const url = baseUrl(given ?? (await localServer(env))?.url ?? DEFAULT_URL);
      const name = options.name ?? defaultName(url);
      if (!NAME.test(name))
        throw wrongUse(`'${name}' is no name for a profile: use letters, digits, '.', '-', '_', ':'`);
      const key = await keyFrom(shell, url, options);
      const me = (await new ApiClient({ url, key, from: "this login" }).call(GET_ME)) as Me;
      const { profiles } = await readConfig(env);
      await writeConfig(env, { current: name, profiles: { ...profiles, [name]: { url, key } } });
      const { person, session } = me;
      const until = session?.expiresAt ?? null;
      const said = { profile: name, url, account: me.account.name, key: me.key?.name ?? null };
      const who = person ? ` as ${person.email} (${person.role}, until ${until})` : "";
      writeLine(
        stdout,
        options.json
          ? JSON.stringify({ ...said, person: person?.email ?? null, expiresAt: until })
          : `signed in to ${url}${who}, account '${said.account}', as profile '${name}', which verbs use from now on`,
      );
      stdin.pause();
    });
}

const NAME = /^[\w.:-]{1,64}$/;
const defaultName = (url: string) => {
  const { host, hostname } = new URL(url);
  return hostname === "localhost" || hostname.startsWith("127.") || hostname === "[::1]" ? "local" : host;
};

async function keyFrom({ stdin, ...shell }: Shell, url: string, { key, keyStdin }: LoginOptions): Promise<string> {
  if (!key && !keyStdin) return (await import("./login-code.ts")).keyByCode({ stdin, ...shell }, url);
  const instead = "pipe the key in with --key-stdin";
  const text = keyStdin ? await readAll(stdin) : await askHidden({ stdin, ...shell }, `API key for ${url}: `, instead);
  return checkedKey(text.trim(), keyStdin ? "standard input" : "the terminal");
}

export function logoutCommand({ env, stdout }: Shell): Command {
  return new Command("logout")
    .description("forget a profile and its key, and end its session")
    .argument("[name]", "the profile; default: the one in use")
    .addHelpText("after", "\nExample:\n  millrace logout work")
    .action(async (given: string | undefined) => {
      const config = await readConfig(env);
      const name = given ?? config.current;
      if (name === undefined) throw wrongUse("no profile is in use: name one, as 'millrace profiles' lists them");
      known(config, name);
      const { [name]: forgotten, ...profiles } = config.profiles;
      const ended = await endSession(forgotten!);
      await writeConfig(env, { current: config.current === name ? undefined : config.current, profiles });
      writeLine(stdout, `forgot profile '${name}'; ${ended}`);
    });
}

/** A session ends on the server. It is forgotten here also if the server cannot be asked. */
async function endSession({ url, key }: Profile): Promise<string> {
  const { isSessionKey } = await import("./login-code.ts");
  if (!isSessionKey(key)) return "its key is still valid on the server until it is revoked";
  try {
    const api = new ApiClient({ url, key, from: "this profile" });
    const { session } = (await api.call(GET_ME)) as Me;
    await api.call(END_SESSION, { params: { id: session?.id ?? "" } });
    return "its session has ended";
  } catch (error) {
    if (error instanceof Refusal && error.status === 401) return "its session had ended";
    if (!(error instanceof Failure)) throw error;
    return `its session could not be ended (${error.message}): end it in the console, at Account, Sessions`;
  }
}

export function profilesCommand({ env, stdout }: Shell): Command {
  return new Command("profiles")
    .description("list the profiles that 'login' has made")
    .option("--json", "print JSON")
    .addHelpText("after", "\nExample:\n  millrace profiles --json")
    .action(async ({ json }: { json?: boolean }) => {
      const { current, profiles } = await readConfig(env);
      const all = Object.entries(profiles).map(([name, { url }]) => ({ name, url, isCurrent: name === current }));
      if (json) return writeLine(stdout, JSON.stringify({ profiles: all }));
      if (all.length === 0) return writeLine(stdout, "there are none: 'millrace login URL' makes one");
      for (const { name, url, isCurrent } of all) writeLine(stdout, `${isCurrent ? "*" : " "} ${name}  ${url}`);
    });
}

export function useCommand({ env, stdout }: Shell): Command {
  return new Command("use")
    .description("use another profile from now on")
    .argument("<name>", "the profile")
    .addHelpText("after", "\nExample:\n  millrace use work")
    .action(async (name: string) => {
      const config = await readConfig(env);
      known(config, name);
      await writeConfig(env, { ...config, current: name });
      writeLine(stdout, `verbs use profile '${name}' (${config.profiles[name]!.url}) from now on`);
    });
}

function known({ profiles }: Config, name: string): void {
  if (!Object.hasOwn(profiles, name))
    throw wrongUse(`there is no profile '${name}': 'millrace profiles' lists those that are there`);
}
