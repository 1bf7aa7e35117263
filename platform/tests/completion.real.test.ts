/** Completion as a person has it: the scripts are loaded into real shells, which complete verbs, flags and names of a real server. */
import { execFile } from "node:child_process";
import { symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Folder, launcher, ownerKey, type Server, startServer, temporaryFolder } from "./process.ts";

const run = promisify(execFile);

let [folder, data]: Folder[] = [];
let server: Server;
let env: Record<string, string>;

/** Whatever is on the line is quoted by the shell, so that nobody's name becomes a command. No id begins with a capital letter. */
const HOSTILE = "X; touch $(echo pwned) *";

beforeAll(async () => {
  [folder, data] = [await temporaryFolder(), await temporaryFolder()];
  server = await startServer(data.path);
  const key = await ownerKey(data.path);
  await symlink(launcher, join(folder.path, "millrace"));
  const here = { HOME: folder.path, TERM: "dumb", MILLRACE_URL: server.url, MILLRACE_API_KEY: key };
  env = { ...here, PATH: `${folder.path}:${process.env.PATH}`, LC_ALL: "C.UTF-8" };
  for (const name of ["hello", HOSTILE, "two\nlines\u001b[2J"]) {
    const body = { name, image: "busybox:1", cpu: [{ id: "cpu3c", vcpuCount: 2 }] };
    const { status } = await server.call("POST", "/v2/serverless", { key, body });
    expect(status).toBe(201);
  }
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  for (const one of [folder, data]) await one![Symbol.asyncDispose]();
});

const BASH = `
eval "$(millrace completion bash)"
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_millrace
printf '%s\\n' "\${COMPREPLY[@]}"
`;

const FISH = `
millrace completion fish | source
complete --do-complete (string join -- ' ' $argv) | string replace --regex '\\t.*' ''
true
`;

/** The settings of a person who uses zsh. A key writes down the line as it stands after a Tab. */
const ZSHRC = `
PROMPT=
autoload -Uz compinit && compinit -u -D
eval "$(millrace completion zsh)"
noted() { zle complete-word; print -r -- "$BUFFER" >$HOME/line.new; mv $HOME/line.new $HOME/line }
ready() { touch $HOME/ready }
zle -N noted
zle -N zle-line-init ready
bindkey '^T' noted
`;

/** Types into a zsh that has a terminal of its own. */
const ZSH = `
zmodload zsh/zpty
rm -f $HOME/ready $HOME/line
zpty -b shell zsh -i
until [[ -e $HOME/ready ]]; do zpty -rt shell part; sleep 0.05; done
zpty -n -w shell "$*"$'\\x14'
until [[ -e $HOME/line ]]; do zpty -rt shell part; sleep 0.05; done
cat $HOME/line
zpty -d shell
`;

async function completed(shell: string, ...words: string[]): Promise<string> {
  const file = join(folder!.path, `complete.${shell}`);
  await writeFile(file, { bash: BASH, fish: FISH, zsh: ZSH }[shell]!);
  await writeFile(join(folder!.path, ".zshrc"), ZSHRC);
  const { stdout } = await run(shell, [...(shell === "zsh" ? ["-f"] : []), file, ...words], { env, cwd: folder!.path });
  return stdout;
}

const isInstalled = (shell: string) =>
  run(shell, ["-c", "exit 0"]).then(
    () => true,
    () => false,
  );

describe.each(["bash", "fish"])("%s", (shell) => {
  test("completes verbs, flags and names of the server", async ({ skip }) => {
    skip(!(await isInstalled(shell)), `${shell} is not installed here`);
    expect((await completed(shell, "millrace", "end")).trim()).toBe("endpoints");
    expect((await completed(shell, "millrace", "pods", "lis")).trim()).toBe("list");
    expect((await completed(shell, "millrace", "pods", "list", "--js")).trim()).toBe("--json");
    expect((await completed(shell, "millrace", "run", "hel")).trim()).toBe("hello");
  });

  test("offers no name that would reach the terminal as more than text", async ({ skip }) => {
    skip(!(await isInstalled(shell)), `${shell} is not installed here`);
    const all = await completed(shell, "millrace", "run", "");
    expect(all).not.toContain("\u001b");
    expect(all).not.toMatch(/^two$|^lines/m);
  });
});

test("bash puts a name on the line as one word, whatever is in it", async () => {
  const word = (await completed("bash", "millrace", "run", "X")).trim();
  expect((await run("bash", ["-c", `printf %s ${word}`], { cwd: folder!.path })).stdout).toBe(HOSTILE);
});

describe("zsh", () => {
  test("completes verbs, flags and names of the server, by Tab in a terminal", async ({ skip }) => {
    skip(!(await isInstalled("zsh")), "zsh is not installed here");
    expect(await completed("zsh", "millrace pods lis")).toBe("millrace pods list \n");
    expect(await completed("zsh", "millrace pods list --js")).toBe("millrace pods list --json \n");
    expect(await completed("zsh", "millrace run hel")).toBe("millrace run hello \n");
    expect(await completed("zsh", "millrace run X")).toBe("millrace run X\\;\\ touch\\ \\$\\(echo\\ pwned\\)\\ \\* \n");
  });
});
