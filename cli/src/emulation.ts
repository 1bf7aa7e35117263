/** `millrace serve --emulate`: what the emulator has instead of a machine and a lasting data folder. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { Emulation } from "@millrace/platform/composition/emulator.ts";
import type { Settings } from "@millrace/platform/settings/settings.ts";

export interface EmulationFlags {
  emulate?: boolean;
  state?: string;
  data?: string;
}

export interface Emulated {
  settings: Settings;
  emulation: Emulation;
  /** To be called after the server has ended: keeps the state, and leaves nothing else. */
  end(): Promise<void>;
}

/** Without `--data` it gets a folder of its own that goes with it. It never uses the folder or database of another server. */
export async function openEmulated(settings: Settings, { state, data }: EmulationFlags): Promise<Emulated> {
  const { openEmulation } = await import("@millrace/platform/composition/emulator.ts");
  const folder = data === undefined ? await mkdtemp(join(tmpdir(), "millrace-emulator-")) : resolve(data);
  const emulation = await openEmulation({ data: folder, state: state === undefined ? undefined : resolve(state) });
  return {
    settings: {
      ...{ ...settings, data: folder, compute: "none", docker: "off", sshPort: "off" },
      ...{ databaseUrl: undefined, databaseUrlFile: undefined, workerUrl: undefined },
    },
    emulation,
    async end() {
      await emulation.save();
      if (data === undefined) await rm(folder, { recursive: true, force: true });
    },
  };
}
