/** Small pieces of HTML for pages that are not written in Markdown. */

const ESCAPES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

export const escaped = (plain: string): string => plain.replaceAll(/[&<>"]/g, (character) => ESCAPES[character]!);

export const code = (plain: string): string => `<code>${escaped(plain)}</code>`;

/** Descriptions of the API use two marks of Markdown: backticks and empty lines. */
export const text = (plain: string): string =>
  plain === ""
    ? ""
    : plain
        .split(/\n{2,}/)
        .map((part) => `<p>${escaped(part).replaceAll(/`([^`]+)`/g, "<code>$1</code>")}</p>`)
        .join("");

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = (tag: string, row: readonly string[]) => row.map((cell) => `<${tag}>${cell}</${tag}>`).join("");
  const body = rows.map((row) => `<tr>${cells("td", row)}</tr>`).join("");
  return `<table><thead><tr>${cells("th", head)}</tr></thead><tbody>${body}</tbody></table>`;
}
