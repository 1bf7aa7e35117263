/** `millrace completion`: the script by which a shell completes verbs, flags and ids, and what that script asks for. */
import { Argument, Command } from "commander";
import { ApiClient } from "./api.ts";
import { groups } from "./groups.ts";
import { listed } from "./names.ts";
import { type Shell, writeLine } from "./shell.ts";
import type { Verb } from "./verb.ts";

/** Each script asks this program, with the words so far, and gets one candidate a line. */
const SCRIPTS: Record<string, string> = {
  // Bash puts a candidate on the line as it is, and a name may hold what the shell would run.
  bash: `_millrace() {
  local at
  mapfile -t COMPREPLY < <("\${COMP_WORDS[0]}" complete-words -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  for at in "\${!COMPREPLY[@]}"; do printf -v "COMPREPLY[at]" %q "\${COMPREPLY[at]}"; done
}
complete -o default -F _millrace millrace ./millrace`,
  zsh: `#compdef millrace
_millrace() {
  local -a found
  found=("\${(@f)$("\${words[1]}" complete-words -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  [[ -n "$found" ]] && compadd -a found || _files
}
compdef _millrace millrace`,
  fish: `function __millrace
  set -l words (commandline -opc) (commandline -ct)
  $words[1] complete-words -- $words[2..-1] 2>/dev/null
end
complete -c millrace -f -a '(__millrace)'`,
};

export function completionCommand({ stdout }: Shell): Command {
  return new Command("completion")
    .description("print the script that completes verbs, flags and ids in a shell")
    .addArgument(new Argument("<shell>", "which shell").choices(Object.keys(SCRIPTS)))
    .addHelpText("after", '\nExample:\n  eval "$(millrace completion bash)"')
    .action((name: string) => writeLine(stdout, SCRIPTS[name]!));
}

export function completeWordsCommand(shell: Shell, verbs: readonly Verb[]): Command {
  return new Command("complete-words")
    .description("print what can come next on a command line; for the scripts of 'completion'")
    .argument("[words...]", "the words so far; the last one may be half a word")
    .addHelpText("after", "\nExample:\n  millrace complete-words -- pods li")
    .action(async (words: string[]) => {
      for (const word of await candidates(shell, verbs, words)) writeLine(shell.stdout, word);
    });
}

async function candidates(shell: Shell, verbs: readonly Verb[], words: readonly string[]): Promise<string[]> {
  const [before, half] = [words.slice(0, -1), words.at(-1) ?? ""];
  const fitting = (all: readonly string[]) => all.filter((word) => word.startsWith(half)).sort();
  const [first, second, ...more] = before;
  if (first === undefined) return fitting(verbs.filter(({ isHidden }) => !isHidden).map(({ name }) => name));
  const command = await verbs.find(({ name }) => name === first)?.load(shell);
  if (!command) return [];
  const inner = command.commands.find((one) => one.name() === second);
  if (command.commands.length > 0 && !inner && before.length === 1)
    return fitting(command.commands.map((one) => one.name()));
  const meant = inner ?? command;
  if (half.startsWith("-"))
    return fitting(meant.options.flatMap(({ long, hidden }) => (long && !hidden ? [long] : [])));
  const isFlagValue = before.at(-1)?.startsWith("-");
  const takesThing = meant.registeredArguments.length > 0 && !isFlagValue;
  const isFirst = (inner ? more : before.slice(1)).every((word) => word.startsWith("-"));
  return takesThing && isFirst ? fitting(await things(shell, first)) : [];
}

/** The groups whose records a verb outside of them is about. */
const ABOUT: Record<string, readonly string[]> = {
  ...{ run: ["endpoints"], jobs: ["endpoints"], batches: ["endpoints"] },
  ...{ logs: ["endpoints", "pods"], ssh: ["pods"], exec: ["pods"] },
};

/** Names and ids of what the server has. A server that is away completes nothing. */
async function things(shell: Shell, verb: string): Promise<string[]> {
  try {
    const api = await ApiClient.open({}, shell.env);
    const found = await Promise.all((ABOUT[verb] ?? [verb]).map((name) => recordsOf(api, name)));
    const words = found.flat().flatMap(({ id, name }) => (name ? [name, id] : [id]));
    // A name with a line break would be two candidates, and other control characters would reach the terminal.
    return [...new Set(words.filter((word) => !/[\p{Cc}\p{Cf}]/u.test(word)))];
  } catch {
    return [];
  }
}

async function recordsOf(api: ApiClient, name: string): Promise<{ id: string; name?: string }[]> {
  const group = groups.find((one) => one.name === name);
  const list = group?.verbs.find(({ verb }) => verb === "list");
  if (!group || !list) return [];
  const answer = await listed(api, (await group.operations())[list.operation]!);
  return Object.values(answer).find((value) => Array.isArray(value)) as { id: string; name?: string }[];
}
