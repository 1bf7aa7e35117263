/** The GPUs of this machine, or virtual ones where there are none and clients' requests should work all the same. */
import { readdir, readFile } from "node:fs/promises";
import type { Gpu } from "../../ports/compute/compute.ts";
import { runTool } from "../machine/forker.ts";
import { find } from "../machine/tools.ts";

export type GpuMode = "auto" | "virtual" | "none";

/** A GPU and its device files. */
export interface Device extends Gpu {
  files: readonly string[];
}

export interface GpuOptions {
  mode: GpuMode;
  /** The catalog's names of GPU types. */
  types: readonly string[];
  /** Whether `auto` may add virtual GPUs. They mislead nobody only where nobody else is served. */
  mayBeVirtual: boolean;
}

const VIRTUAL_OF_EACH = 64;
const SHARED_FILES = ["/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidia-modeset"];
const NVIDIA = "0x10de";
const DISPLAY_CLASS = "0x03";

export async function findGpus({ mode, types, mayBeVirtual }: GpuOptions): Promise<Device[]> {
  if (mode === "none") return [];
  if (mode === "virtual") return virtualGpus(types);
  if (await hasNvidia()) return nvidiaGpus(types);
  return mayBeVirtual ? virtualGpus(types) : [];
}

function virtualGpus(types: readonly string[]): Device[] {
  return types.flatMap((type) => {
    const slug = type.toLowerCase().replace(/[^a-z0-9]+/g, "-");
    return Array.from({ length: VIRTUAL_OF_EACH }, (_, n) => ({
      id: `virtual-${slug}-${n}`,
      type,
      virtual: true,
      files: [],
    }));
  });
}

/** Looks for the driver's device files or, where no driver is installed, for plugged-in cards. */
async function hasNvidia(): Promise<boolean> {
  const devices = await readdir("/dev").catch(() => []);
  if (devices.some((name) => /^nvidia\d+$/.test(name))) return true;
  const cards = await readdir("/sys/bus/pci/devices").catch(() => []);
  const kinds = await Promise.all(cards.map((card) => kindOf(`/sys/bus/pci/devices/${card}`)));
  return kinds.some(([vendor, kind]) => vendor === NVIDIA && kind?.startsWith(DISPLAY_CLASS));
}

const kindOf = (card: string) =>
  Promise.all(
    ["vendor", "class"].map((name) =>
      readFile(`${card}/${name}`, "utf8").then(
        (text) => text.trim(),
        () => "",
      ),
    ),
  );

/** A failing tool is an error that carries its message: real GPUs that do not work must not be replaced by virtual ones. */
async function nvidiaGpus(types: readonly string[]): Promise<Device[]> {
  const tool = await find("nvidia-smi");
  if (!tool)
    throw new Error("this machine has an NVIDIA GPU, but nvidia-smi is not installed: install NVIDIA's driver");
  const text = await runTool(tool, ["--query-gpu=uuid,name,pci.bus_id", "--format=csv,noheader"]);
  return Promise.all(parseNvidia(text).map((gpu, index) => withFiles(gpu, index, types)));
}

/** The newest CUDA version that the machine's driver supports, if there are real GPUs. Not knowing it is no reason to fail the start. */
export async function cudaWith(gpus: readonly Gpu[]): Promise<string | undefined> {
  if (!gpus.some(({ virtual }) => !virtual)) return undefined;
  const tool = await find("nvidia-smi");
  return tool && runTool(tool, []).then(parseCuda, () => undefined);
}

/** Parses a header such as `| NVIDIA-SMI 570.86  Driver Version: 570.86  CUDA Version: 12.8 |`. */
export const parseCuda = (text: string) => /CUDA(?: \w+)? Version:\s*(\d+\.\d+)/.exec(text)?.[1];

interface Found {
  id: string;
  name: string;
  bus: string;
}

/** Parses lines such as `GPU-5a…, NVIDIA H200, 00000000:1B:00.0`. */
export function parseNvidia(text: string): Found[] {
  return text.split("\n").flatMap((line) => {
    const [id, name, bus] = line.split(",").map((part) => part.trim());
    return id && name && bus ? [{ id, name, bus }] : [];
  });
}

async function withFiles({ id, name, bus }: Found, index: number, types: readonly string[]): Promise<Device> {
  // The tool numbers GPUs by bus and the driver numbers device files in its own order, so the two may differ.
  const folder = bus.toLowerCase().replace(/^0000(?=\d{4}:)/, "");
  const about = await readFile(`/proc/driver/nvidia/gpus/${folder}/information`, "utf8").catch(() => "");
  const minor = /^Device Minor:\s*(\d+)/m.exec(about)?.[1] ?? index;
  return { id, type: typeOf(name, types), virtual: false, files: [`/dev/nvidia${minor}`, ...SHARED_FILES] };
}

/** The catalog's name for a GPU if only the case differs, otherwise the tool's name. */
export const typeOf = (name: string, types: readonly string[]) =>
  types.find((type) => type.toLowerCase() === name.toLowerCase()) ?? name;
