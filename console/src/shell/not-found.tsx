/** An address that leads nowhere. */
import { ButtonLink } from "../design/button.tsx";
import { Empty } from "../design/layout.tsx";

export function NotFound() {
  return (
    <Empty title="There is no such page" action={<ButtonLink to="/">Go to the overview</ButtonLink>}>
      The link may be old, or what it led to was deleted. Ctrl-K finds everything by name or id.
    </Empty>
  );
}
