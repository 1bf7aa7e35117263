/** Brings an image to the engine, telling how far it is at a rate that people can read. */
import type { Clock } from "../../kernel/clock.ts";
import { type RegistryCredential, StartRefused } from "../../ports/compute/compute.ts";
import { type EngineApi, EngineRefused, isNotFound, linesIn } from "./engine-api.ts";

/** One line of the engine's report; those with an id speak of one layer. */
interface Report {
  id?: string;
  status?: string;
  progressDetail?: { current?: number; total?: number };
  error?: string;
}

const TELL_EVERY_MS = 2_000;
const MB = 1_000_000;

export async function hasImage(api: EngineApi, image: string): Promise<boolean> {
  try {
    await api.call("GET", `/images/${image}/json`);
    return true;
  } catch (error) {
    if (isNotFound(error)) return false;
    // An image name that cannot be one; the engine says what is wrong with it.
    if (error instanceof EngineRefused) throw new StartRefused(error.message, { cause: error });
    throw error;
  }
}

export interface Pull {
  image: string;
  progress: (line: string) => void;
  credential?: RegistryCredential;
  clock: Clock;
}

export async function pullImage(api: EngineApi, { image, progress, credential, clock }: Pull): Promise<void> {
  const startedAt = clock.monotonic();
  progress("asking the registry");
  try {
    const reports = await api.stream("POST", "/images/create", {
      query: { fromImage: withTag(image) },
      headers: credential ? { "x-registry-auth": authHeader(image, credential) } : {},
    });
    const layers = new Layers();
    let toldAt = startedAt;
    for await (const line of linesIn(reports)) {
      const report = JSON.parse(line) as Report;
      if (report.error !== undefined) throw new EngineRefused(500, report.error);
      layers.hear(report);
      if (clock.monotonic() - toldAt < TELL_EVERY_MS) continue;
      toldAt = clock.monotonic();
      progress(layers.summary());
    }
  } catch (error) {
    if (!(error instanceof EngineRefused)) throw error;
    throw new StartRefused(`cannot pull ${image}: ${without(credential, error.message)}`);
  }
  // A connection that breaks off looks like the end of the report.
  if (!(await hasImage(api, image))) throw new Error(`the pull of ${image} was broken off`);
  progress(`done in ${((clock.monotonic() - startedAt) / 1_000).toFixed(1)} s`);
}

/** Without a tag the engine would pull all of them. */
const withTag = (image: string) => (/:[\w.-]+$|@/.test(image) ? image : `${image}:latest`);

function authHeader(image: string, { username, password }: RegistryCredential): string {
  const auth = { username, password, serveraddress: registryOf(image) };
  // The alphabet for URLs, yet with the padding that Node leaves out there: without it Docker reads no credential at all.
  return Buffer.from(JSON.stringify(auth)).toString("base64").replaceAll("+", "-").replaceAll("/", "_");
}

/** As Docker reads a reference: what stands before the first slash is a registry when it looks like a host. */
export function registryOf(image: string): string {
  const [first, ...rest] = image.split("/");
  const isHost = rest.length > 0 && (/[.:]/.test(first!) || first === "localhost");
  return isHost ? first! : "https://index.docker.io/v1/";
}

/** The engine repeats no password that we know of; a registry's own words might. */
function without(credential: RegistryCredential | undefined, text: string): string {
  return credential?.password ? text.replaceAll(credential.password, "…") : text;
}

/** How far each layer is. */
class Layers {
  readonly #bytes = new Map<string, { current: number; total: number }>();
  readonly #seen = new Set<string>();
  readonly #done = new Set<string>();

  hear({ id, status = "", progressDetail: { current = 0, total = 0 } = {} }: Report): void {
    if (id === undefined || status.startsWith("Pulling from")) return;
    this.#seen.add(id);
    if (status === "Pull complete" || status === "Already exists") this.#done.add(id);
    if (status === "Downloading") this.#bytes.set(id, { current, total });
  }

  summary(): string {
    const sum = (part: "current" | "total") => [...this.#bytes.values()].reduce((all, one) => all + one[part], 0);
    const loaded = `${Math.round(sum("current") / MB)} MB of ${Math.round(sum("total") / MB)} MB`;
    return `${this.#done.size} of ${this.#seen.size} layers, ${loaded}`;
  }
}
