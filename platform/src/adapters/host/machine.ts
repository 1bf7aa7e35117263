/** Checks whether this machine has what the tests of the host driver need. */
import { find } from "../machine/tools.ts";

/** Why the whole driver cannot be tested here, or undefined. `npm test` installs missing tools where it may. */
export async function missingForTests(): Promise<string | undefined> {
  if (process.getuid!() !== 0) return "networks, control groups and users of their own need root";
  for (const tool of ["bwrap", "ip", "nft", "setpriv", "unshare", "nsenter"])
    if (!(await find(tool)))
      return `${tool} is not installed (apt-get install bubblewrap nftables iproute2 util-linux)`;
  return undefined;
}
