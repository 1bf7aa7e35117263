/** The server's own folders. Nothing that accounts read may name them. */

/** The longest path comes first. The list belongs to the process, since the folders are the same for all callers. */
const hidden: string[] = [];

/** From now on `withoutPlaces` removes this folder, and everything in it, from texts. */
export function hidePlace(folder: string): void {
  if (folder === "/" || hidden.includes(folder)) return;
  hidden.push(folder);
  hidden.sort((a, b) => b.length - a.length);
}

const DATA_FOLDER = "the server's data folder";

/** Returns a text without paths of the server's own files. Other paths, such as a mount of a program, stay. */
export function withoutPlaces(text: string): string {
  let told = text;
  for (const folder of hidden) {
    if (!told.includes(folder)) continue;
    const at = `${escaped(folder)}(?![\\w.-])`;
    // A quoted path may contain spaces. An unquoted one ends at the next space.
    const quoted = `(['"\`])${at}(?:/(?:(?!\\1).)*)?\\1`;
    told = told.replaceAll(new RegExp(`${quoted}|${at}(?:/[^\\s'"\`,;:)]*)?`, "g"), DATA_FOLDER);
  }
  return told;
}

const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
