/** Text of models and reasons, which writes names of fields in `backticks`. */

/** A description with its `words` in monospace. */
export function Described({ text }: { text: string }) {
  return text.split("`").map((part, index) =>
    // biome-ignore lint/suspicious/noArrayIndexKey: parts of one text, always the same
    index % 2 === 1 ? <code key={index}>{part}</code> : part,
  );
}
