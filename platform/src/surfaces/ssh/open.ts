/** SSH over the parts of the application, not listening yet. */
import type { AccountService } from "../../resources/account/service.ts";
import type { EndpointService } from "../../resources/endpoints/service.ts";
import type { PodRecords } from "../../resources/pods/records.ts";
import { SshLogins } from "../../resources/ssh/logins.ts";
import { SshListener, type SshListenerParts } from "./listener.ts";
import { PodDoor, type PodDoorParts } from "./pod-door.ts";

type Parts = Omit<SshListenerParts, "logins" | "door" | "publicUrl"> &
  PodDoorParts & { podRecords: PodRecords; account: AccountService; endpoints: EndpointService };

/** Of the connections of the server as a whole. */
const SHARE = 8;

export function openSshListener(parts: Parts): SshListener {
  return new SshListener({
    ...parts,
    logins: new SshLogins(parts),
    door: new PodDoor(parts),
    publicUrl: () => parts.endpoints.publicUrl(),
    connections: Math.ceil(parts.connections / SHARE),
  });
}
