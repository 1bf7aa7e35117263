/** What tests of the host driver need of the machine. */
import { find } from "../machine/tools.ts";

/** Why the whole of the driver cannot be tried here, or undefined. `npm test` installs what is missing where it may. */
export async function missingForTests(): Promise<string | undefined> {
  if (process.getuid!() !== 0) return "networks, control groups and users of their own need root";
  for (const tool of ["bwrap", "ip", "nft", "setpriv", "unshare", "nsenter"])
    if (!(await find(tool)))
      return `${tool} is not installed (apt-get install bubblewrap nftables iproute2 util-linux)`;
  return undefined;
}
