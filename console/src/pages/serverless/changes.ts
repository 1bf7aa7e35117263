/** What a release changed, in words. */
import { labelOf } from "../../forms/schema.ts";

/** Names of fields in the older dialect, which releases are told in, and what the console calls them. */
const NAMES: Record<string, string> = {
  imageName: "image",
  dockerArgs: "args",
  containerDiskInGb: "disk",
  containerRegistryAuthId: "registry",
  locations: "dataCenterIds",
  networkVolumeIds: "networkVolumes",
};

/** `template.imageName` as `Image`. */
export function changeLabel(field: string): string {
  const name = field.replace(/^template\./, "");
  return labelOf(NAMES[name] ?? name);
}

const LONGEST = 400;

export function changeText(value: unknown): string {
  if (value === null || value === undefined || value === "") return "none";
  const text = typeof value === "string" ? (commandIn(value) ?? value) : plain(value);
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
}

/** A start command is told as one text, which may hold lists: `{"entrypoint":[],"cmd":["node","worker.ts"]}`. */
function commandIn(text: string): string | undefined {
  if (!text.startsWith("{")) return undefined;
  try {
    const { entrypoint = [], cmd = [], ...others } = JSON.parse(text) as { entrypoint?: string[]; cmd?: string[] };
    return Object.keys(others).length === 0 ? [...entrypoint, ...cmd].join(" ") : undefined;
  } catch {
    return undefined;
  }
}

function plain(value: unknown): string {
  if (typeof value !== "object" || value === null) return String(value);
  if (Array.isArray(value)) return value.length === 0 ? "none" : value.map((one) => changeText(one)).join(", ");
  const entries = Object.entries(value);
  return entries.length === 0 ? "none" : entries.map(([name, one]) => `${name}=${changeText(one)}`).join(", ");
}
