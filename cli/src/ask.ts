/** Reads what a person types or pipes in: a secret without echo, a whole stream, or a yes. */
import { readFile } from "node:fs/promises";
import { EXIT, Failure, wrongUse } from "./failure.ts";
import type { Streams } from "./shell.ts";

/** Nothing that a person pipes in as one value is longer. */
const LONGEST_TEXT = 128 * 1024 * 1024;

export async function readAll(stdin: NodeJS.ReadStream): Promise<string> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of stdin as AsyncIterable<Buffer | string>) {
    parts.push(Buffer.from(part));
    length += part.length;
    if (length > LONGEST_TEXT) throw new Failure(`standard input is longer than ${LONGEST_TEXT} bytes`);
  }
  return Buffer.concat(parts).toString("utf8");
}

/** The text of a file, or of standard input for `-`. */
export async function textFrom(file: string, stdin: NodeJS.ReadStream): Promise<string> {
  if (file === "-") return readAll(stdin);
  return readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    throw wrongUse(`${file} cannot be read (${error.code}): name a file that you may read`);
  });
}

const CTRL_C = "\u0003";
const CTRL_D = "\u0004";
const BACKSPACE = /[\b\u007f]/;

/** `instead` says how to give the value without a terminal. */
export async function askHidden({ stdin, stderr }: Streams, question: string, instead: string): Promise<string> {
  if (!stdin.isTTY) throw wrongUse(`there is no terminal to ask for it: ${instead}`);
  stderr.write(question);
  stdin.setRawMode(true);
  stdin.setEncoding("utf8");
  let typed = "";
  try {
    for await (const text of stdin.iterator({ destroyOnReturn: false }) as AsyncIterable<string>) {
      for (const character of text) {
        if (character === CTRL_C) throw new Failure("interrupted", EXIT.interrupted);
        if (character === "\r" || character === "\n" || character === CTRL_D) return typed;
        typed = BACKSPACE.test(character) ? typed.slice(0, -1) : typed + character;
      }
    }
    return typed;
  } finally {
    stdin.setRawMode(false);
    stderr.write("\n");
  }
}
/** Asks before something is lost for good. Without a terminal `--yes` has to say so. */
export async function confirmed(streams: Streams, what: string, yes: boolean | undefined): Promise<void> {
  if (yes) return;
  const { stdin, stderr } = streams;
  if (!stdin.isTTY || !stderr.isTTY) throw wrongUse(`${what}; add --yes to do it`);
  const { createInterface } = await import("node:readline/promises");
  const lines = createInterface({ input: stdin, output: stderr });
  try {
    const answer = await lines.question(`${what}. Go on? [y/N] `);
    if (!/^y(es)?$/i.test(answer.trim())) throw new Failure("nothing was done");
  } finally {
    lines.close();
  }
}
