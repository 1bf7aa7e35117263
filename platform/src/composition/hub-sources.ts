/** Opens the sources of the hub's listings: those of the operator, and the listings that come with Millrace. */
import { createHash } from "node:crypto";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { FolderListings } from "../adapters/listings/folder-listings.ts";
import { GitListings } from "../adapters/listings/git-listings.ts";
import type { Clock } from "../kernel/clock.ts";
import type { ListingSource } from "../ports/listings/listings.ts";
import { type Settings, withoutSecrets } from "../settings/settings.ts";

const EXAMPLES = fileURLToPath(new URL("../../../examples", import.meta.url));
const MINUTE_MS = 60_000;

/** The operator's come first: theirs are offered where both have a listing of the same name. */
export function openHubSources(
  { data, hub = [], hubStarters, hubMinutes, hubCredentials: credentials }: Settings,
  clock: Clock,
): ListingSource[] {
  const environment = withoutSecrets(process.env);
  const everyMs = hubMinutes * MINUTE_MS;
  const given = hub.map((place) => {
    if ("folder" in place) return new FolderListings(place.folder);
    const { url, ref, protocol } = place;
    const name = createHash("sha256")
      .update(`${url}#${ref ?? ""}`)
      .digest("hex")
      .slice(0, 16);
    const access = { protocol, credentials, environment };
    return new GitListings({ url, ref, everyMs, clock, access, folder: join(data, "hub", name) });
  });
  const starters = new FolderListings(join(EXAMPLES, "hub"), { owner: "millrace", root: EXAMPLES });
  return hubStarters === "off" ? given : [...given, starters];
}
