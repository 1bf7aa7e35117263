/** Asks before a page is left on which something was typed and not saved, also by Back and by closing the tab. */
import { useBlocker } from "@tanstack/react-router";
import { isSessionOver } from "../api/session.ts";
import { Confirm } from "../design/dialog.tsx";

export function LeaveGuard({ isUnsaved }: { isUnsaved: boolean }) {
  const { status, proceed, reset } = useBlocker({
    shouldBlockFn: ({ current, next }) => isUnsaved && current.pathname !== next.pathname,
    enableBeforeUnload: () => isUnsaved && !isSessionOver(),
    withResolver: true,
  });
  return (
    <Confirm
      isOpen={status === "blocked"}
      onClose={() => reset?.()}
      title="Leave without saving?"
      keeping="Stay here"
      verb="Leave"
      onConfirm={() => proceed?.()}
    >
      What you typed on this page is lost then.
    </Confirm>
  );
}
