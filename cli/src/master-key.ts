/** `millrace master-key rotate`: a new master key for everything that is sealed. */

import { realRandom } from "@millrace/platform/kernel/random.ts";
import { masterKeyFile } from "@millrace/platform/main.ts";
import { addMasterKey, dropOldMasterKeys } from "@millrace/platform/ports/vault/master-keys.ts";
import { Command } from "commander";
import { inInstallation, type PlaceOptions, placeSettings, print, withPlace } from "./installation.ts";

interface Options extends PlaceOptions {
  json?: boolean;
}

export function masterKeyCommand(): Command {
  const rotate = withPlace(
    new Command("rotate").description("seal everything with a new master key; stop the server first"),
  )
    .option("--json", "print JSON")
    .action(async (options: Options) => {
      const settings = placeSettings(options);
      const file = masterKeyFile(settings);
      // With keys from outside, the operator puts the new key in front of the old ones and then runs this.
      const ownFile = !settings.masterKey && !settings.masterKeyCommand;
      // Each step leaves everything readable: both keys are known until nothing needs the old one.
      if (ownFile) await inInstallation(options, () => addMasterKey(file, realRandom));
      const rewrapped = await inInstallation(options, ({ secrets }) => secrets.rewrap());
      if (ownFile) await dropOldMasterKeys(file);
      print({ rewrapped }, options.json, () => [`sealed ${rewrapped} values with the new master key`]);
    });
  return new Command("master-key").description("the key that protects all secrets").addCommand(rotate);
}
