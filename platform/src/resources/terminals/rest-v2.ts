/** Answers the REST v2 operations on terminals. */
import { timestamp } from "../../kernel/clock.ts";
import type { Call, Handlers } from "../../kernel/operation.ts";
import type { ShellPlace } from "../shells.ts";
import type { terminalOperations } from "./operations.ts";
import type { TerminalService } from "./service.ts";

type Asked = Call<(typeof terminalOperations)["createPodTerminal"]>;

export function terminalHandlers(terminals: TerminalService): Handlers<typeof terminalOperations> {
  const open = async ({ caller, body }: Asked, place: ShellPlace) => {
    const { url, token, expiresAt } = await terminals.ticket(caller, place, body);
    return { url, ticket: token, expiresAt: timestamp(expiresAt) };
  };
  return {
    createPodTerminal: (call) => open(call, { pod: call.params.id! }),
    createWorkerTerminal: (call) => open(call, { endpoint: call.params.id!, worker: call.params.workerId! }),
  };
}
