/** Names of the server's own folders, which nothing that accounts read may have. */

/** The longest first. One process has the same ones whoever asks. */
const hidden: string[] = [];

/** From now on no text without places has this folder, or what is in it. */
export function hidePlace(folder: string): void {
  if (folder === "/" || hidden.includes(folder)) return;
  hidden.push(folder);
  hidden.sort((a, b) => b.length - a.length);
}

const DATA_FOLDER = "the server's data folder";

/** A text without the places of the server's own files. Others' paths, such as a mount of a program, stay. */
export function withoutPlaces(text: string): string {
  let told = text;
  for (const folder of hidden) {
    if (!told.includes(folder)) continue;
    const at = `${escaped(folder)}(?![\\w.-])`;
    // In quotes a name may have spaces; without, it ends at the next.
    const quoted = `(['"\`])${at}(?:/(?:(?!\\1).)*)?\\1`;
    told = told.replaceAll(new RegExp(`${quoted}|${at}(?:/[^\\s'"\`,;:)]*)?`, "g"), DATA_FOLDER);
  }
  return told;
}

const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
