/** How far a batch is, as one bar. */
import type { Batch } from "@millrace/platform/resources/batches/model.ts";
import { countText } from "../../design/facts.tsx";
import css from "./batches.module.css";

export function BatchProgress({ batch }: { batch: Batch }) {
  const { requestTotal: total, requestCompleted, requestFailed, requestCancelled, requestInProgress } = batch;
  const ended = requestCompleted + requestFailed + requestCancelled;
  const part = (count: number) => ({ width: `${total === 0 ? 0 : (count / total) * 100}%` });
  return (
    <span className={css.progress}>
      <span
        className={css.bar}
        role="progressbar"
        aria-label="Requests that have ended"
        aria-valuenow={ended}
        aria-valuemin={0}
        aria-valuemax={total}
      >
        <span className={css.done} style={part(requestCompleted)} />
        <span className={css.bad} style={part(requestFailed)} />
        <span className={css.cancelled} style={part(requestCancelled)} />
        <span className={css.running} style={part(requestInProgress)} />
      </span>
      <span className="numbers">
        {countText(ended)} / {countText(total)}
      </span>
    </span>
  );
}
