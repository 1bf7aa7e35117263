/** What can be done with Pods, one or many at once: each action asks first where something is lost. */
import type { PodAction } from "@millrace/platform/resources/pods/lifecycle.ts";
import type { Pod } from "@millrace/platform/resources/pods/model.ts";
import { useNavigate } from "@tanstack/react-router";
import { Play, RotateCcw, Square, Trash2 } from "lucide-react";
import { useState } from "react";
import { call } from "../../api/client.ts";
import { useMayNot } from "../../api/me.ts";
import { cache, useWrite } from "../../api/queries.ts";
import { Refusal } from "../../api/refusal.ts";
import { Button } from "../../design/button.tsx";
import { Confirm } from "../../design/dialog.tsx";
import { Menu } from "../../design/menu.tsx";
import { say, sayRefused } from "../../design/toast.tsx";
import { ableTo, lostBy, refusedAction } from "./state.ts";

const ACTIONS = [
  { action: "start", verb: "Start", done: "started", icon: <Play /> },
  { action: "stop", verb: "Stop", done: "stopped", icon: <Square fill="currentColor" /> },
  { action: "restart", verb: "Restart", done: "restarted", icon: <RotateCcw /> },
  { action: "terminate", verb: "Terminate", done: "terminated", icon: <Trash2 /> },
] as const;

const READS = ["listPods", "getPod"] as const;
const wordsOf = (action: PodAction) => ACTIONS.find((one) => one.action === action)!;

/** The actions of one Pod: on its page, buttons for what it takes now, and behind a menu what is refused and why. */
export function PodActions({ pod, isSmall = false }: { pod: Pod; isSmall?: boolean }) {
  const mayNot = useMayNot("pods:write");
  const [asking, setAsking] = useState<Exclude<PodAction, "start">>();
  const shown = () =>
    ACTIONS.map(({ action, verb, icon }) => ({
      label: verb,
      icon,
      isDanger: action === "terminate",
      refused: mayNot ?? refusedAction(pod, action),
      onSelect: () => (action === "start" ? void start(pod) : setAsking(action)),
    }));
  return (
    <>
      {isSmall ? (
        <Menu label={`Actions of ${pod.name}`} items={shown} />
      ) : (
        <>
          {shown()
            .filter(({ refused }) => !refused)
            .map(({ label, icon, isDanger, onSelect }) => (
              <Button key={label} icon={icon} kind={isDanger ? "danger" : "plain"} onClick={onSelect}>
                {label}
              </Button>
            ))}
          <Menu label="Actions that are refused now" items={shown().filter(({ refused }) => refused)} />
        </>
      )}
      {asking && <AskOne pod={pod} action={asking} onClose={() => setAsking(undefined)} />}
    </>
  );
}

/** Not a hook: a list has these actions in each row, and people use few of them. */
async function start({ id, name }: Pod): Promise<void> {
  try {
    await call("podAction", { params: { id }, body: { action: "start" } });
    say(`${name} starts`);
    await readAgain();
  } catch (refusal) {
    sayRefused(refusal);
  }
}

const readAgain = () => Promise.all(READS.map((read) => cache.invalidateQueries({ queryKey: [read] })));

function AskOne({ pod, action, onClose }: { pod: Pod; action: Exclude<PodAction, "start">; onClose: () => void }) {
  const navigate = useNavigate();
  const { verb, done } = wordsOf(action);
  const isGone = action === "terminate";
  const act = useWrite("podAction", {
    changes: isGone ? ["listPods"] : READS,
    onSuccess: () => {
      onClose();
      say(`${pod.name} is ${done}`);
      if (isGone) void navigate({ to: "/pods", ignoreBlocker: true });
    },
  });
  return (
    <Confirm
      isOpen
      onClose={onClose}
      title={`${verb} ${pod.name}?`}
      verb={verb}
      {...(isGone && pod.mounts.persistent && { typed: pod.name })}
      isBusy={act.isPending}
      refusal={act.error}
      onConfirm={() => act.mutate({ params: { id: pod.id }, body: { action } })}
    >
      <ul>
        {lostBy(action, pod).map((text) => (
          <li key={text}>{text}</li>
        ))}
      </ul>
    </Confirm>
  );
}

interface ManyProps {
  pods: readonly Pod[];
  ids: readonly string[];
  onDone: () => void;
}

export function ManyActions({ pods, ids, onDone }: ManyProps) {
  const mayNot = useMayNot("pods:write");
  const [asking, setAsking] = useState<PodAction>();
  return (
    <>
      {ACTIONS.map(({ action, verb, icon }) => {
        const { able } = ableTo(pods, ids, action);
        return (
          <Button
            key={action}
            size="small"
            icon={icon}
            kind={action === "terminate" ? "danger" : "plain"}
            refused={mayNot ?? (able.length === 0 && `None of them can be ${wordsOf(action).done} now`)}
            onClick={() => setAsking(action)}
          >
            {verb}
            {able.length > 0 && able.length < ids.length ? ` ${able.length}` : ""}
          </Button>
        );
      })}
      {asking && (
        <AskMany
          pods={pods}
          ids={ids}
          action={asking}
          onClose={() => setAsking(undefined)}
          onDone={() => {
            setAsking(undefined);
            onDone();
          }}
        />
      )}
    </>
  );
}

function AskMany({ pods, ids, action, onClose, onDone }: ManyProps & { action: PodAction; onClose: () => void }) {
  const [isBusy, setBusy] = useState(false);
  const [refusal, setRefusal] = useState<Refusal | null>(null);
  const { able, refused } = ableTo(pods, ids, action);
  const { verb, done } = wordsOf(action);
  const chosen = pods.filter(({ id }) => able.includes(id));
  const stored = chosen.filter(({ mounts }) => mounts.persistent);
  const go = async () => {
    setBusy(true);
    const { failed, first } = await actOnAll(able, action);
    setBusy(false);
    await readAgain();
    if (first) return setRefusal(first);
    say(`${countText(able.length - failed)} ${able.length - failed === 1 ? "is" : "are"} ${done}`);
    onDone();
  };
  return (
    <Confirm
      isOpen
      onClose={onClose}
      title={`${verb} ${countText(able.length)}?`}
      verb={`${verb} ${able.length}`}
      {...(action === "terminate" && stored.length > 0 && { typed: `terminate ${able.length}` })}
      isBusy={isBusy}
      refusal={refusal}
      onConfirm={() => void go()}
    >
      <p>{chosen.map(({ name }) => name).join(", ")}.</p>
      {action !== "start" && <p>What their programs wrote to their container disks is lost.</p>}
      {action === "terminate" && stored.length > 0 && (
        <p>The persistent mounts of {stored.map(({ name }) => name).join(", ")} are deleted with everything in them.</p>
      )}
      {refused > 0 && (
        <p>
          {refused} of those you chose cannot be {done} now, and {refused === 1 ? "stays" : "stay"} as{" "}
          {refused === 1 ? "it is" : "they are"}.
        </p>
      )}
    </Confirm>
  );
}

const countText = (count: number) => (count === 1 ? "1 Pod" : `${count} Pods`);

/** A few at a time: the API counts requests. */
const AT_ONCE = 6;

async function actOnAll(ids: readonly string[], action: PodAction): Promise<{ failed: number; first: Refusal | null }> {
  let failed = 0;
  let first: Refusal | null = null;
  const left = [...ids];
  const work = async () => {
    for (let id = left.shift(); id !== undefined; id = left.shift()) {
      await call("podAction", { params: { id }, body: { action } }).catch((error: unknown) => {
        failed++;
        first ??= error instanceof Refusal ? error : new Refusal(0, "Failed", String(error));
      });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return { failed, first };
}
