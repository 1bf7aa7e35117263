/** A server of its own with two accounts, as the target of generated requests. */
import { chmod, cp, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openServices } from "../../../src/composition/services.ts";
import { openInstallation } from "../../../src/main.ts";
import { settingsFrom } from "../../../src/settings/settings.ts";
import { ownerKey, type Server, startServer, temporaryFolder } from "../../process.ts";
import { DEBUGGABLE } from "./memory.ts";
import { type Person, type Place, placeOf, settle } from "./population.ts";

const APP = fileURLToPath(new URL("../../fixtures/small-app.mjs", import.meta.url));

export interface World extends AsyncDisposable {
  server: Server;
  place: Place;
  people: readonly [Person, Person];
}

/** Rate limits are off, so that every request reaches its route. */
const SETTINGS = {
  MILLRACE_COMPUTE: "host",
  MILLRACE_HOST_IMAGES: "on",
  MILLRACE_RATE_LIMITS: "off",
  MILLRACE_LOG_LEVEL: "warn",
};

export async function openWorld(databaseUrl: string | undefined): Promise<World> {
  await using opened = new AsyncDisposableStack();
  const folder = opened.use(await temporaryFolder());
  const [data, apps] = [join(folder.path, "data"), join(folder.path, "apps")];
  await mkdir(apps);
  await cp(APP, join(apps, "small-app.mjs"));
  // Programs run as other users and must be able to read these folders.
  for (const path of [folder.path, apps]) await chmod(path, 0o755);
  const database: Record<string, string> = databaseUrl ? { MILLRACE_DATABASE_URL: databaseUrl } : {};
  const server = opened.use(await startServer(data, { env: { ...SETTINGS, ...DEBUGGABLE, ...database } }));
  // Ends the server in order, so that its programs end with it.
  opened.defer(async () => {
    if (server.process.exitCode === null) await server.end("SIGTERM");
  });
  await using installation = await openInstallation(settingsFrom({ MILLRACE_DATA: data, ...database }), {
    thread: false,
  });
  const place = await placeOf(server.url, data, installation);
  const stranger = await installation.accounts.create("stranger", "stranger@localhost");
  const strangersKey = (await installation.account.issueKey(stranger, { scopes: ["all"] })).key;
  const services = await openServices(installation);
  const people = [
    await settle(place, "owner", await ownerKey(data), apps, services),
    await settle(place, "stranger", strangersKey, apps, services),
  ] as const;
  const kept = opened.move();
  return { server, place, people, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}
