/** How the site reads Markdown: links between documents become links between pages. */
import { documentOf, linkFrom } from "./places.ts";

interface Token {
  type: string;
  tag: string;
  hidden: boolean;
  children: Token[] | null;
  attrGet(name: string): string | null;
  attrSet(name: string, value: string): void;
}

interface MarkdownIt {
  core: {
    ruler: {
      push(name: string, rule: (state: { tokens: Token[]; env: { page: { inputPath: string } } }) => void): void;
    };
  };
}

export function readable(markdown: MarkdownIt): void {
  markdown.core.ruler.push("links-between-pages", ({ tokens, env }) => {
    const document = documentOf(env.page.inputPath);
    for (const { children } of tokens) if (children) rewriteLinks(document, children);
  });
}

/** A link to what the site does not have, such as a source file, is left as its text. */
function rewriteLinks(document: string, tokens: readonly Token[]): void {
  let isDropped = false;
  for (const token of tokens) {
    if (token.type === "link_open") {
      const target = linkFrom(document, token.attrGet("href") ?? "");
      isDropped = target === undefined;
      if (target !== undefined) token.attrSet("href", target);
    }
    if (token.type === "image") token.attrSet("src", linkFrom(document, token.attrGet("src") ?? "") ?? "");
    if (isDropped && /^link_(open|close)$/.test(token.type)) token.tag = "span";
    if (token.type === "link_close") isDropped = false;
  }
}
