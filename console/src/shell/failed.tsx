/** A page that failed. A file of it that is missing is fetched with a reload, once, when the server answers. */
import { useEffect, useState } from "react";
import { paused } from "../api/rate-pause.ts";
import { Button } from "../design/button.tsx";
import { Empty, Skeleton } from "../design/layout.tsx";
import { returnLinkToken } from "./link-token.ts";
import { isMissingFile, isServed, reloadOnce } from "./missing-file.ts";

function reload(): void {
  returnLinkToken();
  location.reload();
}

/** How long a server that does not answer is left alone before it is asked again. */
const PAUSE_MS = 3000;

/** Reloads once the server answers, and says what is the matter until then. */
function useReload(isMissing: boolean): "soon" | "unreachable" | "tried" {
  const [standing, setStanding] = useState<"soon" | "unreachable" | "tried">("soon");
  useEffect(() => {
    if (!isMissing) return;
    const leaving = new AbortController();
    const { signal } = leaving;
    const look = async () => {
      for (let isThere = await isServed(signal); !isThere; isThere = await isServed(signal)) {
        if (signal.aborted) return;
        setStanding("unreachable");
        await paused(PAUSE_MS, signal);
      }
      if (!signal.aborted && !reloadOnce(sessionStorage, Date.now(), reload)) setStanding("tried");
    };
    void look();
    return () => leaving.abort();
  }, [isMissing]);
  return standing;
}

export function Failed({ error }: { error: unknown }) {
  const isMissing = isMissingFile(error);
  const standing = useReload(isMissing);
  const action = <Button onClick={reload}>Reload</Button>;
  if (isMissing && standing === "soon") return <Skeleton />;
  if (isMissing && standing === "unreachable") {
    return (
      <Empty title="The server cannot be reached">
        A file of this page could not be loaded. The page appears as soon as the server answers.
      </Empty>
    );
  }
  if (isMissing) {
    return (
      <Empty title="There is a new version of the console" action={action}>
        A file of this page could not be loaded. The server was updated while the page was open.
      </Empty>
    );
  }
  return (
    <Empty title="This page failed" action={action}>
      {error instanceof Error ? error.message : String(error)}
    </Empty>
  );
}
