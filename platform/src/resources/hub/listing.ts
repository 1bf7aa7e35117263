/** A listing: what the files of a hub repository say, checked. */
import { isAbsolute, relative, resolve } from "node:path";
import type { Fault, FoundListing } from "../../ports/listings/listings.ts";
import { flavorOf } from "../container/instance-ids.ts";
import { Fields, type Json } from "./fields.ts";
import { HUB_LIMITS, type ListingType, listingTypes } from "./model.ts";
import { type ListingTest, testsOf } from "./tests-file.ts";
import { type Preset, presetsOf, type Variable, variablesOf } from "./variables.ts";

export interface Listing {
  id: string;
  owner: string;
  name: string;
  title: string;
  description: string;
  type: ListingType;
  category: string;
  tags: string[];
  iconUrl: string | null;
  license: string;
  readme: string;
  releaseId: string;
  version: string;
  releasedAt: number;
  image: string | null;
  args: string;
  endpointType: "QUEUE" | "LOAD_BALANCER";
  disk: number;
  ports: string[];
  persistent: { size: number; path: string } | null;
  startJupyter: boolean;
  startSsh: boolean;
  compute: { gpuIds: string | null; count: number; allowedCudaVersions: string[] } | { id: string; vcpuCount: number };
  fixed: Record<string, string>;
  variables: Variable[];
  presets: Preset[];
  tests: ListingTest[];
  /** The `config` of the file and the file of tests as they came, for clients that read them themselves. */
  config: Json;
  testsText: string;
}

const SMALL_CPU = { id: "cpu3c", vcpuCount: 2 };
const PORT = /^([1-9]\d{0,4})\/(http|tcp)$/;
const CUDA = /^\d{1,3}\.\d{1,3}$/;
const LONGEST_IMAGE = 8192;

/** Returns the listing, or only the faults because of which it cannot be offered. */
export function listingFrom(
  found: FoundListing,
  images: Readonly<Record<string, string>>,
): { listing: Listing | undefined; faults: Fault[] } {
  const faults: Fault[] = [];
  const notes: Fault[] = [];
  const hub = Fields.of(found.hub, faults);
  const tests = found.tests && Fields.of(found.tests, faults);
  const config = hub && (hub.object("config") ?? new Fields(found.hub.path, "$.config", {}, faults));
  if (!hub || !config || (found.tests && !tests)) return { listing: undefined, faults };
  // What only we have is in one place, so that no other use of the same word stands in its way.
  const own = hub.object("millrace") ?? new Fields(found.hub.path, "$.millrace", {}, faults);
  const { owner, name } = found;
  const id = `${owner}.${name}`.toLowerCase();
  const type = hub.word("type", listingTypes, "SERVERLESS");
  const { variables, fixed } = variablesOf(config);
  const listing: Listing = {
    ...{ id, owner, name, type },
    title: hub.text("title", HUB_LIMITS.title) || name,
    description: hub.text("description", HUB_LIMITS.description),
    category: hub.text("category", 64).toLowerCase() || "other",
    tags: own.texts("tags", { most: HUB_LIMITS.tags, longest: 64 }),
    iconUrl: iconOf(hub, notes, found.hub.path),
    license: own.text("license", 64),
    readme: found.readme?.text ?? "",
    releaseId: `${id}@${found.version}`,
    version: own.text("version", 64) || found.label || found.version,
    releasedAt: found.changedAt,
    image: imageOf(own, found, images),
    args: own.text("args", HUB_LIMITS.text),
    endpointType: endpointTypeOf(own, config),
    disk: config.whole("containerDiskInGb", { least: 1, most: 1_000_000, otherwise: 20 }),
    ports: portsOf(own),
    ...ofPods(own),
    compute: computeOf(config),
    ...{ fixed, variables },
    presets: presetsOf(config, variables),
    tests: tests ? testsOf(tests, type) : [],
    config: config.values,
    testsText: found.tests?.text ?? "",
  };
  return { listing: faults.length > 0 ? undefined : listing, faults: [...faults, ...notes] };
}

/** Only an address is passed on, for other clients. A wrong one is no reason to leave the listing out. */
function iconOf(hub: Fields, notes: Fault[], file: string): string | null {
  const text = hub.text("iconUrl", 2048);
  const url = text === "" ? null : URL.parse(text);
  if (url && /^https?:$/.test(url.protocol)) return url.href;
  if (text !== "")
    notes.push({ file, field: "$.iconUrl", why: "must be an http or https address; the listing has no icon now" });
  return null;
}

/** The image is named in the file, or by the operator for the repository, or by whoever deploys it. */
function imageOf(own: Fields, { owner, name, folder }: FoundListing, images: Readonly<Record<string, string>>) {
  const text = own.text("image", LONGEST_IMAGE) || images[`${owner}/${name}`.toLowerCase()] || "";
  if (text === "") return null;
  const program = /^host(?::(.*))?$/.exec(text);
  if (!program) return text;
  if (!folder)
    return own.fault("image", "is a `host` image, which only a listing in a folder of this machine can have") ?? null;
  const path = resolve(folder.path, program[1] ?? ".");
  const within = relative(folder.root, path);
  if (within.startsWith("..") || isAbsolute(within))
    return own.fault("image", "leaves the folder of the hub: a `host` image must stay within it") ?? null;
  return `host:${path}`;
}

const BALANCED = ["LB", "LOAD_BALANCER"] as const;
const QUEUED = ["QB", "QUEUE"] as const;

function endpointTypeOf(own: Fields, config: Fields): Listing["endpointType"] {
  const said = config.has("endpointType") ? config : own;
  const word = said.word("endpointType", [...QUEUED, ...BALANCED], "QB");
  return (BALANCED as readonly string[]).includes(word) ? "LOAD_BALANCER" : "QUEUE";
}

function portsOf(own: Fields): string[] {
  const ports = own.texts("ports", { most: HUB_LIMITS.ports, longest: 16 });
  const wrong = ports.find((port) => !PORT.test(port) || Number.parseInt(port, 10) > 65_535);
  if (wrong !== undefined) own.fault("ports", `'${wrong}' must be a port such as 8888/http`);
  return ports;
}

function ofPods(own: Fields): Pick<Listing, "persistent" | "startJupyter" | "startSsh"> {
  const size = own.whole("volumeInGb", { least: 0, most: 1_000_000, otherwise: 0 });
  const path = own.text("volumeMountPath", 512, "/workspace");
  return {
    persistent: size === 0 ? null : { size: Math.max(10, size), path },
    startJupyter: own.flag("startJupyter"),
    startSsh: own.flag("startSsh"),
  };
}

function computeOf(config: Fields): Listing["compute"] {
  const runsOn = config.word("runsOn", ["GPU", "CPU"], "GPU");
  if (runsOn === "CPU") {
    const flavor = config.text("cpuFlavor", 64);
    if (flavor === "") return SMALL_CPU;
    const { id, vcpuCount } = flavorOf(flavor);
    return { id, vcpuCount: Number.isInteger(vcpuCount) && vcpuCount >= 2 ? vcpuCount : SMALL_CPU.vcpuCount };
  }
  const cuda = config.texts("allowedCudaVersions", { most: 100, longest: 16 }).filter((one) => one.trim() !== "");
  const wrong = cuda.find((version) => !CUDA.test(version));
  if (wrong !== undefined) config.fault("allowedCudaVersions", `'${wrong}' must be a version such as 12.4`);
  return {
    gpuIds: config.text("gpuIds", 4096) || null,
    count: config.whole("gpuCount", { least: 1, most: 1024, otherwise: 1 }),
    allowedCudaVersions: [...new Set(cuda)],
  };
}

/** Reads the operator's images of repositories: an object with `owner/name` and the image of each. */
export function imagesFrom(found: { path: string; text: string } | undefined, faults: Fault[]): Record<string, string> {
  const fields = found && Fields.of(found, faults);
  if (!fields) return {};
  const named = Object.keys(fields.values).map((name) => [name.toLowerCase(), fields.text(name, LONGEST_IMAGE)]);
  return Object.fromEntries(named.filter(([, image]) => image !== ""));
}
