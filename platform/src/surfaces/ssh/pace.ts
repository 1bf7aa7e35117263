/** Limits how fast an SSH client is read: small packets cost as much as large ones, and thousands may arrive at once. */
import type { Clock } from "../../kernel/clock.ts";
import { soon } from "../../kernel/clock.ts";
import { Rest } from "../rest.ts";
import { type Connection, onPackets, socketOf } from "./library.ts";

/** After this many packets, other work gets a turn. */
const PACKETS_AT_ONCE = 256;
/** Requests to the server: sizes, signals, variables, channels. Bytes for programs do not count. */
const REQUESTS = { perSecond: 200, atOnce: 400 };

/** How often to check whether the excess has been taken. */
const HOLD_MS = 50;

export interface Pace {
  /** Stops reading for as long as the condition holds. */
  hold(isSo: () => boolean): void;
}

export function keepPace(client: Connection, clock: Clock): Pace {
  const socket = socketOf(client);
  let packets = 0;
  let isHeld = false;
  let holds: (() => boolean) | undefined;
  const readOn = () => {
    if (!isHeld && !holds && !rest.isResting) socket.resume();
  };
  const rest = new Rest({ clock, speed: REQUESTS, pause: () => socket.pause(), resume: readOn });
  const count = () => {
    if (++packets < PACKETS_AT_ONCE || isHeld) return;
    isHeld = true;
    socket.pause();
    soon(() => {
      packets = 0;
      isHeld = false;
      readOn();
    });
  };
  const lookAgain = () => {
    if (socket.destroyed || !holds) return;
    if (holds()) {
      clock.after(HOLD_MS, lookAgain);
      return;
    }
    holds = undefined;
    readOn();
  };
  onPackets(client, { each: count, request: () => rest.heard() });
  return {
    hold(isSo) {
      if (holds) return;
      holds = isSo;
      socket.pause();
      clock.after(HOLD_MS, lookAgain);
    },
  };
}
