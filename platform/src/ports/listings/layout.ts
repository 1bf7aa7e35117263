/** Which files of a source are listings: the layout that hub repositories have, and folders of them. */
import { type Fault, SOURCE_LIMITS } from "./listings.ts";

/** A file of a source, by its path within it. */
export interface Entry {
  path: string;
  bytes: number;
  isLink: boolean;
}

/** The files of one listing. */
export interface Place {
  /** Empty for a source that is one listing itself. */
  folder: string;
  hub: string;
  tests?: string;
  readme?: string;
}

export interface Layout {
  places: Place[];
  images?: string;
  faults: Fault[];
}

/** Folders of a listing's own files. Those in the first one come before those beside it. */
const HOMES = [".runpod/", ""] as const;
const FILES = { hub: "hub.json", tests: "tests.json", readme: "readme.md" } as const;
type Role = keyof typeof FILES;
const ROLES = Object.keys(FILES) as Role[];
const IMAGES = "images.json";
const SAFE_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;

/** A listing is the source itself, `name/` or `owner/name/`. */
const DEEPEST = 2;

/** Whether a folder can hold listings or their files, by its path within the source. */
export function isWorthALook(folder: string): boolean {
  const names = folder.split("/");
  const last = names.at(-1)!;
  if (last === "node_modules") return false;
  if (last.startsWith(".")) return `${last}/` === HOMES[0] && names.length <= DEEPEST + 1;
  return names.length <= DEEPEST;
}

/** Whether a file can belong to a listing. Everything else in a source is not even looked at. */
export function isOfAListing(path: string): boolean {
  const name = path.split("/").at(-1)!.toLowerCase();
  return path === IMAGES || Object.values(FILES).some((file) => file === name);
}

export function layoutOf(entries: readonly Entry[]): Layout {
  const faults: Fault[] = [];
  const known = new Map(entries.map((entry) => [entry.path, entry]));
  let left = SOURCE_LIMITS.allBytes;
  const usable = (path: string): boolean => {
    const entry = known.get(path)!;
    const why = whyNot(entry, left);
    if (why === undefined) left -= entry.bytes;
    else faults.push({ file: path, field: "", why });
    return why === undefined;
  };
  const folders = listingFolders(entries);
  const wellNamed = folders.filter((folder) => isWellNamed(folder, faults));
  if (wellNamed.length > SOURCE_LIMITS.listings)
    faults.push({ file: "", field: "", why: `has ${wellNamed.length} listings, of ${SOURCE_LIMITS.listings} at most` });
  const places = wellNamed.slice(0, SOURCE_LIMITS.listings).flatMap((folder) => {
    const files = filesOf(folder, entries).filter(([, path]) => usable(path));
    const place = { folder, ...Object.fromEntries(files) } as Partial<Place> & { folder: string };
    return place.hub === undefined ? [] : [place as Place];
  });
  const images = known.has(IMAGES) && usable(IMAGES) ? { images: IMAGES } : {};
  return { places, ...images, faults: faults.slice(0, SOURCE_LIMITS.faults) };
}

function whyNot({ isLink, bytes }: Entry, left: number): string | undefined {
  const { fileBytes, allBytes } = SOURCE_LIMITS;
  if (isLink) return "is a symbolic link, and links are not followed";
  if (bytes > fileBytes) return `has ${bytes} bytes, of ${fileBytes} at most`;
  return bytes > left ? `does not fit: all files of a source have at most ${allBytes} bytes` : undefined;
}

/** A folder inside a listing is not another one. A source that is one itself has no others. */
function listingFolders(entries: readonly Entry[]): string[] {
  const all = new Set(
    entries.flatMap(({ path }) => {
      const folder = /^(.*?)(?:\.runpod\/)?hub\.json$/i.exec(path)?.[1];
      const above = folder?.replace(/\/$/, "");
      return above === undefined || !isReached(above) ? [] : [above];
    }),
  );
  if (all.has("")) return [""];
  return [...all].filter((folder) => !all.has(folder.split("/").slice(0, -1).join("/") || "/")).sort();
}

/** Whether a look at the source comes to this folder. */
const isReached = (folder: string) =>
  folder === "" || folder.split("/").every((_, at, names) => isWorthALook(names.slice(0, at + 1).join("/")));

function filesOf(folder: string, entries: readonly Entry[]): [Role, string][] {
  const within = folder === "" ? "" : `${folder}/`;
  const paths = new Map(entries.map(({ path }) => [path.toLowerCase(), path]));
  return ROLES.flatMap((role) => {
    const found = HOMES.map((home) => paths.get(`${within}${home}${FILES[role]}`.toLowerCase()));
    const path = found.find((one) => one !== undefined);
    return path === undefined ? [] : [[role, path] as [Role, string]];
  });
}

function isWellNamed(folder: string, faults: Fault[]): boolean {
  const wrong = folder === "" ? undefined : folder.split("/").find((name) => !SAFE_NAME.test(name));
  if (wrong !== undefined) {
    const why = "a folder of a listing has a name of 1 to 100 letters, digits, '.', '_' and '-'";
    faults.push({ file: folder, field: "", why });
  }
  return wrong === undefined;
}

/** Whose listing it is and what it is called, by its folder or else by its source. */
export function namesOf(folder: string, source: { owner: string; name: string }): { owner: string; name: string } {
  const [first = "", second] = folder.split("/");
  if (first === "") return source;
  return second === undefined ? { owner: source.owner, name: first } : { owner: first, name: second };
}

/** A name of a source that fits into ids, whatever its folder or address is called. */
export function safeName(text: string, otherwise: string): string {
  const safe = text
    .replaceAll(/[^A-Za-z0-9._-]/g, "-")
    .replace(/^[^A-Za-z0-9]+/, "")
    .slice(0, 100);
  return SAFE_NAME.test(safe) ? safe : otherwise;
}
