/** The way from a record to what was done with it, and by whom. */
import { History } from "lucide-react";
import { ButtonLink } from "../design/button.tsx";

export function AuditLink({ id }: { id: string }) {
  return (
    <ButtonLink to="/audit" search={{ resource: id }} kind="quiet" icon={<History />}>
      Who did what
    </ButtonLink>
  );
}
