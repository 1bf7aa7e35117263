/** Operations that open terminals in Pods and workers. */
import type { Operation, Operations } from "../../kernel/operation.ts";
import { Terminal, TerminalRequest } from "./model.ts";

const opens = {
  method: "POST",
  description:
    "The answer has an address for one WebSocket, good for 30 seconds. There, binary frames are what the program reads and writes, and text frames are messages in JSON, such as " +
    "`resize` and `exit`. The terminal ends with the API key that it was asked for with.",
  in: TerminalRequest,
  out: Terminal,
  status: 201,
  refuses: ["wrong-state"],
  bodyLimit: 262_144,
  isBodyOptional: true,
} as const satisfies Partial<Operation>;

export const terminalOperations = {
  createPodTerminal: {
    ...opens,
    path: "/v2/pods/{id}/terminal",
    summary: "Open a terminal in a Pod",
    tag: "Pods",
    scope: "pods:exec",
    narrowed: "refused",
  },
  createWorkerTerminal: {
    ...opens,
    path: "/v2/serverless/{id}/workers/{workerId}/terminal",
    summary: "Open a terminal in a worker",
    tag: "Serverless",
    scope: "serverless:exec",
    narrowed: "own",
  },
} as const satisfies Operations;
