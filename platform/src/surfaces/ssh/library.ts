/** The SSH library, and what it takes beyond what it offers: each with its reason. */
import type { Socket } from "node:net";
import ssh2, { type Connection, type ServerChannel } from "ssh2";

export const { Server, utils } = ssh2;
export type { AuthContext, Connection, ServerChannel, Session } from "ssh2";

interface ConnectionInside {
  _sock: Socket;
  _protocol: {
    channelOpenFail(remote: number, reason: number, words: string): void;
    _onPacket: () => void;
    _handlers: Record<string, (...args: unknown[]) => unknown>;
  };
}

interface ChannelInside {
  outgoing: { packetSize: number };
  _chunk?: Buffer | undefined;
  _chunkcb?: unknown;
  _chunkErr?: Buffer | undefined;
  _chunkcbErr?: unknown;
}

const inside = <T>(outside: object) => outside as unknown as T;

export const socketOf = (client: Connection) => inside<ConnectionInside>(client)._sock;

/** The library refuses to open a channel without a word, and clients show the words. */
export function refuseOpening(client: Connection, reject: () => void, words: string): void {
  const { _protocol: protocol } = inside<ConnectionInside>(client);
  const { channelOpenFail } = protocol;
  protocol.channelOpenFail = (remote, reason) => channelOpenFail.call(protocol, remote, reason, words);
  reject();
  protocol.channelOpenFail = channelOpenFail;
}

const REQUESTS = ["CHANNEL_REQUEST", "GLOBAL_REQUEST", "CHANNEL_OPEN"];

/** The library hears all that comes in a piece without a break, and tells of no packet. */
export function onPackets(client: Connection, told: { each: () => void; request: () => void }): void {
  const { _protocol: protocol } = inside<ConnectionInside>(client);
  const { _onPacket: packet, _handlers: handlers } = protocol;
  protocol._onPacket = () => {
    packet();
    told.each();
  };
  for (const name of REQUESTS) {
    const handle = handlers[name]!;
    handlers[name] = (...args) => {
      told.request();
      return handle(...args);
    };
  }
}

/** In packets smaller than this nobody's words are sent: with 0 bytes in each, the library would go on for ever. */
const SMALLEST_PACKET = 256;

export const takesPackets = (channel: ServerChannel) =>
  inside<ChannelInside>(channel).outgoing.packetSize >= SMALLEST_PACKET;

/**
 * The library keeps what last had to wait for the client, and sends it once more when the next thing that has to wait is of the other
 * stream. To be called when something is written, and nothing else is being written.
 */
export function forgetWritten(channel: ServerChannel): void {
  const kept = inside<ChannelInside>(channel);
  kept._chunk = kept._chunkcb = kept._chunkErr = kept._chunkcbErr = undefined;
}
