/** The SSH library, with what Millrace needs beyond its public interface. Each addition gives its reason. */
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

/** The library refuses channels without a message, but clients would show one. */
export function refuseOpening(client: Connection, reject: () => void, words: string): void {
  const { _protocol: protocol } = inside<ConnectionInside>(client);
  const { channelOpenFail } = protocol;
  protocol.channelOpenFail = (remote, reason) => channelOpenFail.call(protocol, remote, reason, words);
  reject();
  protocol.channelOpenFail = channelOpenFail;
}

const REQUESTS = ["CHANNEL_REQUEST", "GLOBAL_REQUEST", "CHANNEL_OPEN"];

/** The library processes everything that arrives together without a break, and has no event for packets. */
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

/** Channels with smaller packets are not used: with packets of 0 bytes, the library would loop forever. */
const SMALLEST_PACKET = 256;

export const takesPackets = (channel: ServerChannel) =>
  inside<ChannelInside>(channel).outgoing.packetSize >= SMALLEST_PACKET;

/**
 * The library keeps the last bytes that had to wait for the client, and sends them again when the next waiting bytes are for the other
 * stream. Must be called after a write, while nothing else is being written.
 */
export function forgetWritten(channel: ServerChannel): void {
  const kept = inside<ChannelInside>(channel);
  kept._chunk = kept._chunkcb = kept._chunkErr = kept._chunkcbErr = undefined;
}
