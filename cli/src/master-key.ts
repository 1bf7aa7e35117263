/** `millrace master-key rotate`: a new master key for everything that is sealed. */
import { rotateMasterKey } from "@millrace/platform/composition/installation.ts";
import { Command } from "commander";
import { type PlaceOptions, placeSettings, print, withPlace } from "./installation.ts";

interface Options extends PlaceOptions {
  json?: boolean;
}

export function masterKeyCommand(): Command {
  const about = "seal everything with a new master key; stop all servers first";
  const rotate = withPlace(new Command("rotate").description(about))
    .addHelpText("after", "\nExample:\n  millrace master-key rotate")
    .option("--json", "print JSON")
    .action(async (options: Options) => {
      const settings = placeSettings(options);
      const done = await rotateMasterKey(settings);
      const fromOutside = settings.masterKey || settings.masterKeyCommand;
      print(done, options.json, () => [
        `sealed ${done.rewrapped} values with the new master key`,
        ...(done.unreadable
          ? [`${done.unreadable} values were encrypted by a key that is unknown here; they are unchanged`]
          : []),
        ...(fromOutside ? ["only the first key is still needed"] : []),
      ]);
    });
  return new Command("master-key").description("the key that protects all secrets").addCommand(rotate);
}
