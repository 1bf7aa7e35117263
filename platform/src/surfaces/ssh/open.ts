/** Assembles SSH from the parts of the application. It does not listen yet. */
import type { EndpointService } from "../../resources/endpoints/service.ts";
import { SshLogins } from "../../resources/ssh/logins.ts";
import { SshListener, type SshListenerParts } from "./listener.ts";
import { PodDoor, type PodDoorParts } from "./pod-door.ts";

type Parts = Omit<SshListenerParts, "logins" | "door" | "publicUrl"> &
  PodDoorParts &
  ConstructorParameters<typeof SshLogins>[0] & { endpoints: EndpointService };

/** SSH gets one in this many of the server's connections. */
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
