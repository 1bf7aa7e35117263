/** Cancels, retries and purges jobs: one, many, or all that failed. */
import { jobLifecycle } from "@millrace/platform/ports/queue/job.ts";
import { useState } from "react";
import { call, type OperationName } from "../../api/client.ts";
import { cache, keyOf } from "../../api/queries.ts";
import { Refusal } from "../../api/refusal.ts";
import { Confirm } from "../../design/dialog.tsx";
import { countText } from "../../design/facts.tsx";
import { say, sayRefused } from "../../design/toast.tsx";
import { eachJob, tallyText } from "./each-job.ts";
import { idsOf } from "./jobs-api.ts";

type Question = "cancel" | "purge" | "retryAll";

interface Asked {
  question: Question;
  ids: readonly string[];
  then?: (() => void) | undefined;
}

const SHOWN_BY: readonly OperationName[] = ["listJobs", "getJob", "getJobDetails", "getEndpointHealth"];
const RETRIABLE = jobLifecycle.states.filter((state) => jobLifecycle.can(state, "retry"));

export function useJobActions(endpointId: string) {
  const [asked, setAsked] = useState<Asked>();
  const [progress, setProgress] = useState<{ done: number; of: number }>();
  const [refusal, setRefusal] = useState<Refusal | null>(null);
  const readAgain = () => Promise.all(SHOWN_BY.map((name) => cache.invalidateQueries({ queryKey: keyOf(name) })));

  const toEach = async (operation: "cancelJob" | "retryJob", ids: readonly string[], verb: string) => {
    setProgress({ done: 0, of: ids.length });
    const act = (id: string) => call(operation, { params: { endpoint_id: endpointId, job_id: id } });
    const tally = await eachJob(ids, act, { onProgress: (done) => setProgress({ done, of: ids.length }) });
    setProgress(undefined);
    const text = tallyText(verb, tally);
    if (tally.refused.size > 0) sayRefused(text);
    else say(text);
    await readAgain();
  };

  const works: Record<Question, (ids: readonly string[]) => Promise<void>> = {
    cancel: (ids) => toEach("cancelJob", ids, "cancelled"),
    retryAll: async () => toEach("retryJob", await idsOf(endpointId, RETRIABLE), "retried"),
    purge: async () => {
      const { removed } = (await call("purgeQueue", { params: { endpoint_id: endpointId } })) as unknown as {
        removed: number;
      };
      say(`${removed} waiting ${removed === 1 ? "job was" : "jobs were"} removed`);
      await readAgain();
    },
  };

  return {
    asked,
    progress,
    refusal,
    ask: (question: Question, ids: readonly string[], then?: () => void) => {
      setRefusal(null);
      setAsked({ question, ids, then });
    },
    close: () => setAsked(undefined),
    retry: (ids: readonly string[]) => toEach("retryJob", ids, "retried"),
    confirm: async () => {
      try {
        await works[asked!.question](asked!.ids);
        asked!.then?.();
        setAsked(undefined);
      } catch (error) {
        setProgress(undefined);
        if (error instanceof Refusal) setRefusal(error);
        else throw error;
      }
    },
  };
}

type Actions = ReturnType<typeof useJobActions>;

export function JobsDialog({ actions, inQueue }: { actions: Actions; inQueue: number }) {
  const { asked, progress, refusal } = actions;
  const question = asked?.question ?? "cancel";
  const count = asked?.ids.length ?? 0;
  const many = count === 1 ? "this job" : `${count} jobs`;
  const words: Record<Question, { title: string; verb: string; text: string }> = {
    cancel: {
      title: `Cancel ${many}?`,
      verb: `Cancel ${many}`,
      text: "What waits is never run, and what runs is stopped. A cancelled job cannot be retried; its result is lost.",
    },
    purge: {
      title: "Purge the queue?",
      verb: "Remove all that wait",
      text: `${countText(inQueue)} waiting ${inQueue === 1 ? "job is" : "jobs are"} removed for good, with the input. Their callers are told that the job does not exist. Jobs that run go on.`,
    },
    retryAll: {
      title: "Retry all failed jobs?",
      verb: "Retry all",
      text: "Every job of this endpoint that failed or timed out goes to the queue again with its input. Its error is dropped, and running it costs again.",
    },
  };
  const { title, verb, text } = words[question];
  return (
    <Confirm
      isOpen={asked !== undefined}
      onClose={actions.close}
      title={title}
      verb={progress && progress.of > 1 ? `${progress.done} of ${progress.of}` : verb}
      isBusy={progress !== undefined}
      refusal={refusal}
      onConfirm={() => void actions.confirm()}
    >
      {text}
    </Confirm>
  );
}
