/** The settings of the hub, a part of the table of all settings. */
import { resolve } from "node:path";
import { folder, oneOf, whole } from "./setting-values.ts";

export type HubPlace =
  | { folder: string }
  | { url: string; protocol: "https" | "ssh" | "file"; ref: string | undefined };

const MOST_SOURCES = 20;
const REF = /^(?!-)[\w./-]{1,200}$/;

/** Sources with commas or white space between: folders, and addresses of Git repositories with a branch, tag or commit behind `#`. */
function hubPlaces(given: string): HubPlace[] {
  const words = given.split(/[\s,]+/).filter((word) => word !== "");
  if (words.length > MOST_SOURCES) throw new Error(`must name at most ${MOST_SOURCES} sources`);
  return words.map((word) => repositoryIn(word) ?? { folder: resolve(word) });
}

function repositoryIn(word: string): HubPlace | undefined {
  const [address = "", ref] = word.split("#");
  const isShort = /^[\w.-]+@[\w.-]+:[^/]/.test(address);
  if (!isShort && !/^[\w+.-]+:/.test(address)) return undefined;
  const url = isShort ? undefined : URL.parse(address);
  const protocol = isShort ? "ssh" : url?.protocol.replace(":", "");
  if (protocol !== "https" && protocol !== "ssh" && protocol !== "file")
    throw new Error("must be folders, or Git addresses that begin with https://, ssh:// or file://");
  if (url?.password) throw new Error("must have no passwords: put them into the file of MILLRACE_HUB_CREDENTIALS");
  if (ref !== undefined && !REF.test(ref)) throw new Error("must have a branch, a tag or a commit behind '#'");
  return { url: address, protocol, ref };
}

export const hubSettings = {
  hub: {
    flag: "hub",
    variable: "MILLRACE_HUB",
    value: "SOURCES",
    about:
      "where the hub's listings come from, with commas between: folders, and Git addresses such as https://git.example.com/team/hub.git#v2 (docs/hub.md)",
    read: hubPlaces,
  },
  hubStarters: {
    flag: "hub-starters",
    variable: "MILLRACE_HUB_STARTERS",
    value: "WHETHER",
    default: "on",
    about: "on offers the listings that come with Millrace, too; off does not",
    read: oneOf(["on", "off"]),
  },
  hubMinutes: {
    flag: "hub-minutes",
    variable: "MILLRACE_HUB_MINUTES",
    value: "MINUTES",
    default: "5",
    about: "how often the Git repositories of the hub are looked at",
    read: whole(1, 1440),
  },
  hubCredentials: {
    flag: "hub-credentials",
    variable: "MILLRACE_HUB_CREDENTIALS",
    value: "FILE",
    about:
      "file with credentials for these repositories: lines such as https://user:token@git.example.com, or a private SSH key",
    read: folder,
  },
};
