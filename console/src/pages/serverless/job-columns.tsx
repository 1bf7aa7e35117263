/** Columns of the list of jobs. */
import type { Column } from "../../design/column.ts";
import { Duration, Id, Status, When } from "../../design/facts.tsx";
import { ShortReason } from "../../design/reason.tsx";
import { shortError } from "./job-timeline.ts";
import type { ListedJob } from "./jobs-api.ts";

const whyOf = ({ waitReason, error }: ListedJob) => waitReason ?? (error && shortError(error));

export const columns: Column<ListedJob>[] = [
  {
    id: "id",
    title: "Job",
    value: ({ id }) => id,
    cell: ({ id }) => <Id value={id} short="middle" />,
    width: 224,
  },
  {
    id: "status",
    title: "Status",
    value: ({ status }) => status,
    cell: ({ status }) => <Status value={status} />,
    width: 112,
  },
  {
    id: "why",
    title: "Why",
    value: whyOf,
    cell: (job) => <ShortReason text={whyOf(job) ?? null} code={job.waitReasonCode ?? job.errorCode ?? null} />,
  },
  {
    id: "created",
    title: "Submitted",
    value: ({ createdAt }) => createdAt,
    cell: ({ createdAt }) => <When at={createdAt} />,
    width: 100,
  },
  {
    id: "delay",
    title: "Delay",
    value: ({ delayTime }) => delayTime,
    cell: ({ delayTime }) => <Duration ms={delayTime} />,
    width: 92,
    isNumber: true,
  },
  {
    id: "execution",
    title: "Execution",
    value: ({ executionTime }) => executionTime,
    cell: ({ executionTime }) => <Duration ms={executionTime} />,
    width: 92,
    isNumber: true,
  },
  {
    id: "worker",
    title: "Worker",
    value: ({ workerId }) => workerId,
    cell: ({ workerId }) => (workerId ? <Id value={workerId} short /> : <span className="quiet">–</span>),
    width: 116,
  },
  { id: "retries", title: "Retries", value: ({ retries }) => retries ?? 0, isNumber: true, isExtra: true, width: 80 },
  {
    id: "started",
    title: "Started",
    value: ({ startedAt }) => startedAt,
    cell: ({ startedAt }) => <When at={startedAt} />,
    isExtra: true,
    width: 124,
  },
  {
    id: "ended",
    title: "Ended",
    value: ({ completedAt }) => completedAt,
    cell: ({ completedAt }) => <When at={completedAt} />,
    isExtra: true,
    width: 124,
  },
  { id: "code", title: "Reason code", value: (job) => job.waitReasonCode ?? job.errorCode, isExtra: true, width: 180 },
];
