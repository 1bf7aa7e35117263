/** The emulator: a server without a machine, whose time, faults and state a test controls. Nothing of it exists in another server. */
import { EmulatedCompute } from "../adapters/emulator/emulated-compute.ts";
import { type Fault, Faults, faultKinds } from "../adapters/emulator/faults.ts";
import { gpuTypeIds, homeDataCenter } from "../catalog/compute.ts";
import { type Answered, answered } from "../guards/perform.ts";
import { timestamp } from "../kernel/clock.ts";
import { EmulatedClock } from "../kernel/emulated-clock.ts";
import type { Operations } from "../kernel/operation.ts";
import { problem } from "../kernel/problem.ts";
import { realRandom } from "../kernel/random.ts";
import { closed, dateTime, name, oneOf, t } from "../kernel/schema.ts";
import type { Ahead } from "../surfaces/http/server.ts";
import type { Credentials } from "../surfaces/http/surface.ts";
import { LAST_MS, loadState, saveState } from "./emulator-state.ts";
import type { ThisMachine } from "./this-machine.ts";

const common = { tag: "Emulator", narrowed: "refused", who: "installation" } as const;
const reads = { ...common, method: "GET", status: 200, scope: "account:read" } as const;
const writes = { ...common, method: "POST", scope: "account:write" } as const;

const faultFields = {
  kind: oneOf(faultKinds),
  endpointId: t.Optional(name({ description: "Of `worker-crash`: only workers of this endpoint." })),
  gpuTypeId: t.Optional(name({ description: "Of `no-capacity`: only this GPU type is used up." })),
  path: t.Optional(t.String({ maxLength: 1024, description: "Of `rate-limit`: only paths that begin so." })),
  seconds: t.Optional(
    t.Number({ minimum: 0, maximum: 604_800, description: "How long a pull takes; or `Retry-After`." }),
  ),
  exitCode: t.Optional(t.Integer({ minimum: 0, maximum: 255, description: "Of `worker-crash`." })),
  at: t.Optional(oneOf(["start", "job"], { description: "Of `worker-crash`: when the program ends." })),
  times: t.Optional(t.Integer({ minimum: 1, maximum: 1_000_000, description: "How often it happens." })),
};
const ShownFault = t.Object({ id: t.String(), ...faultFields });
const Clock = t.Object({ now: dateTime("The emulator's time.") });
const PATH = t.Optional(t.String({ maxLength: 4096, pattern: "^/", description: "Absolute; `--state` by default." }));

const emulatorOperations = {
  getEmulatorClock: { ...reads, path: "/emulator/clock", summary: "Get the time", out: Clock },
  advanceEmulatorClock: {
    ...{ ...writes, status: 200, path: "/emulator/clock", summary: "Move time ahead", out: Clock },
    in: closed({ advance: t.String({ maxLength: 40, description: "Such as `90s`, `15m`, `12h`, `30d`." }) }),
  },
  listEmulatorFaults: {
    ...{ ...reads, path: "/emulator/faults", summary: "List faults", out: t.Object({ faults: t.Array(ShownFault) }) },
  },
  createEmulatorFault: {
    ...{ ...writes, status: 201, path: "/emulator/faults", summary: "Ask for a fault" },
    ...{ in: closed(faultFields), out: ShownFault },
  },
  deleteEmulatorFaults: {
    ...{ ...writes, method: "DELETE", status: 204, path: "/emulator/faults", summary: "Remove all faults" },
  },
  deleteEmulatorFault: {
    ...{ ...writes, method: "DELETE", status: 204, path: "/emulator/faults/{id}", summary: "Remove a fault" },
  },
  saveEmulatorState: {
    ...{ ...writes, status: 200, path: "/emulator/state", summary: "Save the state to a file of this machine" },
    ...{ in: closed({ file: PATH }), out: t.Object({ file: t.String(), now: dateTime("The time of the state.") }) },
  },
} as const satisfies Operations;

const LOOK_MS = 1000;
const MOST_LOOKS = 30;

export interface Emulation {
  clock: EmulatedClock;
  resources: readonly Answered[];
  ahead: Ahead;
  machine(id: string): ThisMachine;
  save(): Promise<void>;
}

/** Opens the emulator on an empty data folder. A state file that exists is loaded first. */
export async function openEmulation({ data, state }: { data: string; state?: string | undefined }): Promise<Emulation> {
  const startedAt = state === undefined ? undefined : await loadState(data, state);
  const clock = new EmulatedClock(startedAt);
  const faults = new Faults(realRandom);
  const compute = new EmulatedCompute(clock, faults, gpuTypeIds());
  /** The server looks at its machine every few seconds. What is asked after this call meets the fault. */
  const untilSeen = async () => {
    for (let looks = 0; !compute.isSeen && looks < MOST_LOOKS; looks++) await clock.advance(LOOK_MS);
  };
  const shown = () => ({ now: timestamp(clock.now()) });
  const save = async (file = state) => {
    if (file === undefined) throw problem("rule-broken", "Name a file: the emulator was started without --state.");
    await saveState(data, file, clock.now()).catch((error: Error) => {
      throw problem("rule-broken", `The state cannot be saved: ${error.message}`, { cause: error });
    });
    return file;
  };
  const resources = answered(emulatorOperations, {
    getEmulatorClock: async () => shown(),
    async advanceEmulatorClock({ body }) {
      const ms = durationOf(body.advance);
      if (clock.now() + ms > LAST_MS) throw problem("rule-broken", "Time ends with the year 9999.");
      await clock.advance(ms);
      return shown();
    },
    listEmulatorFaults: async () => ({ faults: faults.list() }),
    async createEmulatorFault({ body }) {
      const fault = faults.add(body);
      await untilSeen();
      return fault;
    },
    async deleteEmulatorFaults() {
      faults.clear();
      await untilSeen();
    },
    async deleteEmulatorFault({ params }) {
      faults.remove(params.id!);
      await untilSeen();
    },
    saveEmulatorState: async ({ body }) => ({ file: await save(body.file), ...shown() }),
  });
  return {
    clock,
    resources: [resources],
    ahead: limitsOf(faults),
    machine: (id) => machineOf(id, clock, compute),
    save: async () => void (state !== undefined && (await save())),
  };
}

function machineOf(id: string, clock: EmulatedClock, compute: EmulatedCompute): ThisMachine {
  let url = "";
  clock.beforeTimers(() => compute.ping());
  const site = { dataCenter: homeDataCenter(), isEverywhere: true };
  return {
    machines: [{ id, compute, workerUrl: () => url, site }],
    refusesImage: async () => undefined,
    async openLinks(_, at) {
      url = at;
    },
  };
}

const UNITS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const LONGEST_MS = 3660 * UNITS.d!;

function durationOf(text: string): number {
  const [, amount, unit] = /^(\d{1,12}(?:\.\d{1,6})?)(ms|s|m|h|d)$/.exec(text) ?? [];
  const ms = Number(amount) * (UNITS[unit ?? ""] ?? Number.NaN);
  if (!(ms >= 0 && ms <= LONGEST_MS))
    throw problem(
      "rule-broken",
      `'advance' must be a time such as 90s, 15m, 12h or 30d, at most 3660d, not '${text}'.`,
    );
  return ms;
}

/** Routes that workers use are never limited: it is the clients whose patience is tested. */
const OF_WORKERS = /^\/v2\/[^/]+\/(?:job-|ping\/)/;
const STANDARD_RETRY_S = 1;

function limitsOf(faults: Faults): Ahead {
  const isLimited = ({ url }: Credentials, { path = "/v" }: Fault) => url.startsWith(path);
  return {
    find(request) {
      if (request.url.startsWith("/emulator/") || OF_WORKERS.test(request.url)) return undefined;
      const fault = faults.use("rate-limit", (one) => isLimited(request, one));
      if (!fault) return undefined;
      const text = "Too many requests: the emulator was asked for this.";
      const body = { title: "Too Many Requests", status: 429, detail: text, error: text, message: text };
      return (_, reply) => {
        reply.code(429).type("application/problem+json");
        reply.header("Retry-After", String(fault.seconds ?? STANDARD_RETRY_S));
        return reply.send(JSON.stringify(body));
      };
    },
    mayUpgrade: () => false,
    upgrade: () => {},
  };
}
