/** Reads the little Markdown that readmes of listings need, as data. Nothing of it becomes HTML: what is not known stays text. */

export type Inline =
  | { kind: "text"; text: string }
  | { kind: "code"; text: string }
  | { kind: "strong"; text: string }
  | { kind: "link"; text: string; href: string };

export type Block =
  | { kind: "heading"; level: number; inlines: Inline[] }
  | { kind: "paragraph"; inlines: Inline[] }
  | { kind: "list"; items: Inline[][] }
  | { kind: "code"; text: string };

const MOST_BLOCKS = 500;
const HEADING = /^(#{1,6})\s+(.*?)\s*#*$/;
const ITEM = /^\s*(?:[-*+]|\d{1,3}[.)])\s+(.*)$/;
const FENCE = /^\s*(```|~~~)/;

export function blocksOf(markdown: string): Block[] {
  const lines = markdown.replaceAll("\r\n", "\n").split("\n");
  const blocks: Block[] = [];
  for (let at = 0; at < lines.length && blocks.length < MOST_BLOCKS; ) {
    const line = lines[at]!;
    const [, signs, title = ""] = HEADING.exec(line) ?? [];
    if (line.trim() === "") at++;
    else if (FENCE.test(line)) {
      const end = lines.findIndex((one, i) => i > at && FENCE.test(one));
      const last = end < 0 ? lines.length : end;
      blocks.push({ kind: "code", text: lines.slice(at + 1, last).join("\n") });
      at = last + 1;
    } else if (signs !== undefined) {
      blocks.push({ kind: "heading", level: signs.length, inlines: inlinesOf(title) });
      at++;
    } else if (ITEM.test(line)) {
      const items: string[] = [];
      for (; at < lines.length && lines[at]!.trim() !== ""; at++) {
        const item = ITEM.exec(lines[at]!)?.[1];
        if (item !== undefined) items.push(item);
        else items[items.length - 1] += ` ${lines[at]!.trim()}`;
      }
      blocks.push({ kind: "list", items: items.map(inlinesOf) });
    } else {
      const first = at;
      while (at < lines.length && isOfParagraph(lines[at]!)) at++;
      blocks.push({ kind: "paragraph", inlines: inlinesOf(lines.slice(first, at).join(" ")) });
    }
  }
  return blocks;
}

const isOfParagraph = (line: string) =>
  line.trim() !== "" && !HEADING.test(line) && !FENCE.test(line) && !ITEM.test(line);

const INLINE = /`([^`]+)`|\*\*([^*]+)\*\*|!?\[([^\]]*)\]\(([^)\s]*)[^)]*\)/g;

function inlinesOf(text: string): Inline[] {
  const inlines: Inline[] = [];
  let from = 0;
  for (const match of text.matchAll(INLINE)) {
    const [whole, code, strong, label = "", href = ""] = match;
    if (match.index > from) inlines.push({ kind: "text", text: text.slice(from, match.index) });
    if (code !== undefined) inlines.push({ kind: "code", text: code });
    else if (strong !== undefined) inlines.push({ kind: "strong", text: strong });
    else inlines.push(linkOf(label, href, whole.startsWith("!")));
    from = match.index + whole.length;
  }
  if (from < text.length) inlines.push({ kind: "text", text: text.slice(from) });
  return inlines;
}

/** Pictures of others are not loaded: their text stays. */
function linkOf(label: string, href: string, isPicture: boolean): Inline {
  const url = isPicture ? null : URL.parse(href);
  if (url && /^https?:$/.test(url.protocol)) return { kind: "link", text: label, href: url.href };
  return { kind: "text", text: label };
}
