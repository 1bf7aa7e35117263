/** The options of the Docker driver. */
import type { Clock } from "../../kernel/clock.ts";
import type { Failed } from "../../kernel/failed.ts";
import type { Log } from "../../kernel/log.ts";
import type { Devices } from "../../ports/compute/devices.ts";
import type { Egress } from "../../ports/compute/egress.ts";
import type { PortRange } from "../../ports/compute/publish.ts";
import type { Leave } from "../machine/isolation.ts";
import type { SpanLinks } from "../machine/span-links.ts";
import type { VolumeFolders } from "../machine/volume-folders.ts";

export interface DockerOptions {
  /** Where to look for the engine, see `engineAddresses`. */
  addresses: readonly string[];
  /** The installation whose containers these are. The driver neither sees nor touches any other container. */
  installation: string;
  /** The machine's volumes, shared with its other drivers. The engine must see the same folders. */
  volumes: VolumeFolders;
  /** The addresses that containers reach in addition to the internet. */
  egress: Egress;
  /** Ports of the machine that can be forwarded to containers. */
  publishedPorts?: PortRange;
  clock: Clock;
  log: Log;
  /** Receives the failures of background duties; by default they go to the log. */
  failed?: Failed;
  /** The machine's GPUs, shared with its other drivers; none by default. */
  devices?: Devices;
  ceilings?: boolean;
  /** Joins groups to those of other machines. Absent if there are none. */
  spans?: SpanLinks | undefined;
  /** The accounts whose containers run even where nothing keeps them from the networks around them; by default no account's. */
  leave?: Leave;
  /** Whether an account belongs to the installation's owner; by default every account does. */
  isOwners?: (account: string) => Promise<boolean>;
  /** Ends the workers some time after this process has ended, unless another server has come. */
  watchdog?: { file: string; afterMs: number };
}
