/** A page that failed. A file of it that is missing is fetched with a reload, once. */
import { useState } from "react";
import { Button } from "../design/button.tsx";
import { Empty, Skeleton } from "../design/layout.tsx";
import { returnLinkToken } from "./link-token.ts";
import { isMissingFile, reloadOnce } from "./missing-file.ts";

function reload(): void {
  returnLinkToken();
  location.reload();
}

export function Failed({ error }: { error: unknown }) {
  const isMissing = isMissingFile(error);
  const [isReloading] = useState(() => isMissing && reloadOnce(sessionStorage, Date.now(), reload));
  if (isReloading) return <Skeleton />;
  const action = <Button onClick={reload}>Reload</Button>;
  if (isMissing) {
    return (
      <Empty title="There is a new version of the console" action={action}>
        A file of this page could not be loaded. The server was updated while the page was open, or it cannot be
        reached.
      </Empty>
    );
  }
  return (
    <Empty title="This page failed" action={action}>
      {error instanceof Error ? error.message : String(error)}
    </Empty>
  );
}
