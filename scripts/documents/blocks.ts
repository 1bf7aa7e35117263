/** The code blocks of a document: which of them run, which answers they promise, and which do not run, with the reason. */

/** What the comment above a block says of it. */
const MARKS = ["not run", "run by", "file", "needs", "ends after"] as const;
type Mark = (typeof MARKS)[number];

export interface Block {
  /** The line of the document at which the code begins. */
  line: number;
  language: string;
  code: string;
  /** How many headings stand before it. */
  section: number;
  /** Why the block does not run. */
  "not run"?: string;
  /** The test that runs it, or the program that it shows. */
  "run by"?: string;
  /** The file that a reader writes it to. Later blocks use that file. */
  file?: string;
  /** The program without which it cannot run, and which is not on every machine. */
  needs?: string;
  /** The text after which a reader presses Ctrl-C. */
  "ends after"?: string;
}

export interface Step extends Block {
  /** The JSON block that follows it in its section: a pattern of its answer. */
  answer?: Block;
}

const FENCE = /^(?<marks>(?:<!-- [a-z ]+: [^\n]+? -->\n+)*)(?<ticks>```+)(?<language>\w*)\n(?<code>.*?)^\k<ticks>$/gms;
const MARK = /^<!-- (?<name>[a-z ]+): (?<text>[^\n]+?) -->$/gm;
/** Shows what a person sees. */
const SHOWN = "text";

export function blocksIn(markdown: string): Block[] {
  let section = 0;
  let end = 0;
  return [...markdown.matchAll(FENCE)].map((found) => {
    const { marks = "", language = "", code = "" } = found.groups!;
    const line = markdown.slice(0, found.index + found[0].indexOf("```")).split("\n").length + 1;
    section += [...markdown.slice(end, found.index).matchAll(/^#+ /gm)].length;
    end = found.index + found[0].length;
    return { line, language, code, section, ...marksIn(marks) };
  });
}

function marksIn(comments: string): Partial<Record<Mark, string>> {
  const marks = [...comments.matchAll(MARK)].map(({ groups }) => [groups!.name!, groups!.text!] as const);
  return Object.fromEntries(marks.filter(([name]) => (MARKS as readonly string[]).includes(name)));
}

const isRunHere = (block: Block) => block["not run"] === undefined && block["run by"] === undefined;

/** What a reader types, in order: shell blocks, each with the answer that the document shows for it, and files. */
export function stepsIn(markdown: string): Step[] {
  const blocks = blocksIn(markdown);
  return blocks.flatMap((block, at) => {
    if (block.file !== undefined) return [{ ...block, code: writing(block.file, block.code) }];
    if (block.language !== "sh" || block["run by"] !== undefined) return [];
    return [{ ...block, ...(isAnswered(blocks, at) && { answer: blocks[at + 1]! }) }];
  });
}

function isAnswered(blocks: readonly Block[], at: number): boolean {
  const [block, next] = [blocks[at]!, blocks[at + 1]];
  const isShown = next?.language === "json" && next.section === block.section && next.file === undefined;
  return isShown && isRunHere(next) && isRunHere(block);
}

const writing = (file: string, code: string) =>
  `mkdir -p "$(dirname ${file})"\ncat > ${file} <<'END OF FILE'\n${code}END OF FILE\n`;

/** Returns the blocks that no test runs and that do not say why. */
export function forgottenIn(markdown: string): Block[] {
  const blocks = blocksIn(markdown);
  const answers = blocks.filter((_, at) => at > 0 && blocks[at - 1]!.language === "sh" && isAnswered(blocks, at - 1));
  return blocks.filter(
    (block) =>
      isRunHere(block) &&
      block.language !== "sh" &&
      block.file === undefined &&
      block.language !== SHOWN &&
      !answers.includes(block),
  );
}
