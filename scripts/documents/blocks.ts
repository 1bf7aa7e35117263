/** The code blocks of a document: which of them run, which answers they promise, and which do not run, with the reason. */

export interface Block {
  /** The line of the document at which the code begins. */
  line: number;
  language: string;
  code: string;
  /** Why the block does not run, as the comment above it says. */
  notRun?: string;
  /** How many headings stand before it. */
  section: number;
}

export interface Step extends Block {
  /** The JSON block that follows it in its section: a pattern of its answer. */
  answer?: Block;
}

const FENCE = /^(?:<!-- not run: (?<reason>[^\n]+?) -->\n+)?(?<ticks>```+)(?<language>\w*)\n(?<code>.*?)^\k<ticks>$/gms;

export function blocksIn(markdown: string): Block[] {
  let section = 0;
  let end = 0;
  return [...markdown.matchAll(FENCE)].map((found) => {
    const { reason, language = "", code = "" } = found.groups!;
    const line = markdown.slice(0, found.index + found[0].indexOf("```")).split("\n").length + 1;
    section += [...markdown.slice(end, found.index).matchAll(/^#+ /gm)].length;
    end = found.index + found[0].length;
    return { line, language, code, section, ...(reason !== undefined && { notRun: reason }) };
  });
}

/** The shell blocks in their order, each with the answer that the document shows for it. */
export function stepsIn(markdown: string): Step[] {
  const blocks = blocksIn(markdown);
  return blocks.flatMap((block, at) => {
    if (block.language !== "sh") return [];
    const next = blocks[at + 1];
    const isShown = next?.language === "json" && next.section === block.section;
    const isAnswer = isShown && next.notRun === undefined && block.notRun === undefined;
    return [{ ...block, ...(isAnswer && { answer: next }) }];
  });
}
