/** Generated requests of two more accounts on the stage, at a steady pace and with the usual rate limits. */
import { cp, mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { openServices } from "../../src/composition/services.ts";
import { openInstallation } from "../../src/main.ts";
import { settingsFrom } from "../../src/settings/settings.ts";
import { Requests } from "./requests/campaign.ts";
import { placeOf, settle } from "./requests/population.ts";
import type { Stage } from "./stage.ts";

const APP = fileURLToPath(new URL("../fixtures/small-app.mjs", import.meta.url));
const TOGETHER = 4;
const PAUSE_MS = 40;

export async function noiseOf({ server, data }: Stage, seed: number): Promise<Requests> {
  const apps = join(dirname(data), "apps", "noise");
  await mkdir(apps, { recursive: true });
  await cp(APP, join(apps, "small-app.mjs"));
  await using installation = await openInstallation(settingsFrom({ MILLRACE_DATA: data }), { thread: false });
  const place = await placeOf(server.url, data, installation);
  const services = await openServices(installation);
  const { accounts, account } = services;
  const person = async (name: string) => {
    const { key } = await account.issueKey(await accounts.create(name, `${name}@localhost`), { scopes: ["all"] });
    return settle(place, name, key, apps, services);
  };
  const people = [await person("noise"), await person("noise-too")] as const;
  return new Requests({ place, people, seeds: [seed], together: TOGETHER, pauseMs: PAUSE_MS });
}
