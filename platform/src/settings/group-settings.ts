/** The settings for networks of clusters that span machines, a part of the table of all settings. */
import { isIP } from "node:net";
import { parseRanges } from "../kernel/addresses.ts";
import { whole } from "./setting-values.ts";

function ipAddress(given: string): string {
  if (isIP(given) === 0) throw new Error("must be an IP address such as 10.0.0.5");
  return given;
}

export const groupSettings = {
  groupAddress: {
    flag: "group-address",
    variable: "MILLRACE_GROUP_ADDRESS",
    value: "ADDRESS",
    about:
      "IP address at which other machines reach this one for networks of clusters; default: that of the node URL, or the one it listens on",
    read: ipAddress,
  },
  groupPort: {
    flag: "group-port",
    variable: "MILLRACE_GROUP_PORT",
    value: "P",
    default: "7423",
    about:
      "UDP port for networks of clusters between machines, if they are encrypted (WireGuard); the next port is for plain ones (VXLAN); the same on all machines",
    read: whole(1, 65_534),
  },
  trustedNetworks: {
    flag: "trusted-networks",
    variable: "MILLRACE_TRUSTED_NETWORKS",
    value: "RANGES",
    about:
      "addresses of machines between which networks of clusters need no encryption, such as 10.1.0.0/16; default: none",
    read: parseRanges,
  },
};
