/** All scenes, one file of the folder `scenes` after the other. */
import { readdirSync } from "node:fs";
import type { Scene } from "./stage.ts";

export async function allScenes(): Promise<Scene[]> {
  const files = readdirSync(new URL("./scenes/", import.meta.url)).filter((name) => name.endsWith(".ts"));
  const modules = await Promise.all(
    files.sort().map((name) => import(new URL(`./scenes/${name}`, import.meta.url).href)),
  );
  return modules.flatMap(({ scenes }: { scenes: Scene[] }) => scenes);
}
