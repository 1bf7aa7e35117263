/** What the Docker driver is told. */
import type { Clock } from "../../kernel/clock.ts";
import type { Failed } from "../../kernel/failed.ts";
import type { Log } from "../../kernel/log.ts";
import type { Devices } from "../../ports/compute/devices.ts";
import type { Egress } from "../../ports/compute/egress.ts";
import type { PortRange } from "../../ports/compute/publish.ts";
import type { Leave } from "../machine/isolation.ts";
import type { VolumeFolders } from "../machine/volume-folders.ts";

export interface DockerOptions {
  /** Where to look for the engine, see `engineAddresses`. */
  addresses: readonly string[];
  /** Whose containers these are: those of another installation, and of nobody, are not seen and not touched. */
  installation: string;
  /** The machine's, shared with its other drivers; the engine must see the same folders. */
  volumes: VolumeFolders;
  /** What containers reach beyond the internet. */
  egress: Egress;
  /** Ports of the machine that can be led to containers. */
  publishedPorts?: PortRange;
  clock: Clock;
  log: Log;
  /** Hears of duties; by default they are in the log. */
  failed?: Failed;
  /** The machine's, shared with its other drivers; none by default. */
  devices?: Devices;
  ceilings?: boolean;
  /** Whose containers run also where nothing keeps them from the networks around them; nobody's where nothing is said. */
  leave?: Leave;
  /** Whether an account is that of the installation's owner, as every account is where nothing is said. */
  isOwners?: (account: string) => Promise<boolean>;
  /** Ends the workers some time after this process has ended, if no other has come. */
  watchdog?: { file: string; afterMs: number };
}
