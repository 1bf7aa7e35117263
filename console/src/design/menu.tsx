/** A menu of actions behind a button. An action that is refused now stays in it and says why. */
import { Menu as Base } from "@base-ui/react/menu";
import { MoreHorizontal } from "lucide-react";
import type { ReactElement, ReactNode } from "react";
import { IconButton } from "./button.tsx";
import css from "./menu.module.css";

export interface MenuItem {
  label: string;
  icon?: ReactNode;
  isDanger?: boolean;
  refused?: string | false | undefined;
  onSelect: () => void;
}

export function Menu({
  items,
  trigger,
  label = "More actions",
}: {
  items: readonly (MenuItem | false | undefined)[];
  trigger?: ReactElement;
  label?: string;
}) {
  const shown = items.filter((item): item is MenuItem => Boolean(item));
  if (shown.length === 0) return null;
  return (
    <Base.Root>
      <Base.Trigger render={trigger ?? <IconButton label={label} icon={<MoreHorizontal />} />} />
      <Base.Portal>
        <Base.Positioner sideOffset={4} align="end" className={css.positioner!}>
          <Base.Popup className={css.popup!}>
            {shown.map((item) => (
              <Base.Item
                key={item.label}
                className={`${css.item} ${item.isDanger ? css.danger : ""}`}
                disabled={Boolean(item.refused)}
                onClick={item.onSelect}
              >
                {item.icon}
                <span>
                  {item.label}
                  {item.refused && <span className={css.why}>{item.refused}</span>}
                </span>
              </Base.Item>
            ))}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}
