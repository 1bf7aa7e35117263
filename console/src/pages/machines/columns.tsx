/** Columns of the list of machines, and of what runs on one. */
import type { InstallationMachine, MachineInstance } from "@millrace/platform/resources/installation/model.ts";
import { Link } from "@tanstack/react-router";
import type { Column } from "../../design/column.ts";
import { Id, Status, type Tone, When } from "../../design/facts.tsx";
import { amountsOf, textOfAmount } from "./room.ts";

const TONES: Record<InstallationMachine["state"], Tone> = {
  UP: "good",
  SILENT: "bad",
  DRAINING: "wait",
  DRAINED: "idle",
};

export const MachineStatus = ({ state }: Pick<InstallationMachine, "state">) => (
  <Status value={state} tone={TONES[state]} />
);

/** What of one kind is used, of what there is. */
const used = (id: string, title: string): Column<InstallationMachine> => ({
  id,
  title,
  value: (machine) => amountsOf(machine).find((one) => one.id === id)?.used,
  cell: (machine) => {
    const amount = amountsOf(machine).find((one) => one.id === id);
    return amount ? (
      <span className="numbers">
        {textOfAmount(amount, amount.used)} <span className="quiet">of {textOfAmount(amount, amount.most)}</span>
      </span>
    ) : null;
  },
  isNumber: true,
});

export const columns: Column<InstallationMachine>[] = [
  { id: "id", title: "Machine", value: ({ id }) => id, cell: ({ id }) => <Id value={id} /> },
  {
    id: "state",
    title: "State",
    value: ({ state }) => state,
    cell: (machine) => <MachineStatus state={machine.state} />,
  },
  {
    id: "gpus",
    title: "GPUs free",
    value: ({ free }) => free.gpus.reduce((sum, { count }) => sum + count, 0),
    cell: ({ capacity, free }) => <Gpus capacity={capacity.gpus} free={free.gpus} />,
  },
  used("vcpu", "vCPU"),
  used("memory", "Memory"),
  used("disk", "Disk"),
  { id: "pods", title: "Pods", value: ({ pods }) => pods, isNumber: true },
  { id: "workers", title: "Workers", value: ({ workers }) => workers, isNumber: true },
  { id: "dataCenter", title: "Data center", value: ({ dataCenterId }) => dataCenterId },
  { id: "node", title: "Node", value: ({ node }) => node, isExtra: true },
  { id: "runs", title: "Runs", value: ({ runs }) => runs.join(", ") || "any image", isExtra: true },
  { id: "away", title: "Away", value: ({ away }) => away.map(({ images }) => images).join(", "), isExtra: true },
  {
    id: "silent",
    title: "Silent since",
    value: ({ silentSince }) => silentSince,
    cell: ({ silentSince }) => <When at={silentSince} />,
    isExtra: true,
  },
];

type GpuCounts = InstallationMachine["capacity"]["gpus"];

/** `1 of 8 A40`, one for each type that is real. Virtual ones are there of every type. */
function Gpus({ capacity, free }: { capacity: GpuCounts; free: GpuCounts }) {
  const real = capacity.filter(({ virtual }) => !virtual);
  if (real.length === 0) return <span className="quiet">{capacity.length > 0 ? "only virtual" : "none"}</span>;
  const texts = real.map(({ id, count }) => `${free.find((one) => one.id === id)?.count ?? 0} of ${count} ${id}`);
  return (
    <span title={texts.join("\n")}>
      {texts[0]}
      {texts.length > 1 && <span className="quiet"> and {texts.length - 1} more types</span>}
    </span>
  );
}

const KINDS: Record<MachineInstance["kind"], { word: string; path: string }> = {
  pod: { word: "Pod", path: "/pods" },
  worker: { word: "Worker of", path: "/serverless" },
  member: { word: "Member Pod", path: "/pods" },
};

/** Pods and endpoints of another account have no page here, so only those of one's own are links. */
export const instanceColumns = (ownAccount: string | undefined): Column<MachineInstance>[] => [
  {
    id: "what",
    title: "What",
    value: ({ kind, owner }) => `${kind} ${owner}`,
    cell: ({ kind, owner, account }) => (
      <span>
        {KINDS[kind].word}{" "}
        {account === ownAccount ? (
          <Link to={`${KINDS[kind].path}/${owner}` as "/"}>
            <code>{owner}</code>
          </Link>
        ) : (
          <code>{owner}</code>
        )}
      </span>
    ),
  },
  { id: "state", title: "State", value: ({ state }) => state, cell: ({ state }) => <Status value={state} /> },
  {
    id: "account",
    title: "Account",
    value: ({ account }) => account,
    cell: ({ account }) => (account === ownAccount ? "your own" : <Id value={account} />),
  },
  { id: "stays", title: "Why it stays", value: ({ stays }) => stays },
  { id: "id", title: "Instance", value: ({ id }) => id, cell: ({ id }) => <Id value={id} /> },
];
