/** The readme of a listing, as text with headings, lists, code and links. */

import css from "./hub.module.css";
import { blocksOf, type Inline } from "./readme.ts";

export function Readme({ text }: { text: string }) {
  return (
    <div className={css.readme}>
      {blocksOf(text).map((block, index) => {
        const key = `${index} ${block.kind}`;
        if (block.kind === "code") return <pre key={key}>{block.text}</pre>;
        if (block.kind === "heading") return <h3 key={key}>{inlines(block.inlines)}</h3>;
        if (block.kind === "paragraph") return <p key={key}>{inlines(block.inlines)}</p>;
        return (
          <ul key={key}>
            {block.items.map((item, at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: the items of a text never move
              <li key={at}>{inlines(item)}</li>
            ))}
          </ul>
        );
      })}
    </div>
  );
}

const inlines = (all: readonly Inline[]) =>
  all.map((one, index) => {
    const key = `${index} ${one.kind}`;
    if (one.kind === "code") return <code key={key}>{one.text}</code>;
    if (one.kind === "strong") return <strong key={key}>{one.text}</strong>;
    if (one.kind === "text") return <span key={key}>{one.text}</span>;
    return (
      <a key={key} href={one.href} target="_blank" rel="noreferrer noopener">
        {one.text}
      </a>
    );
  });
