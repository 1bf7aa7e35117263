/** A menu of actions behind a button. An action that is refused now stays in it and says why. */
import { Menu as Base } from "@base-ui/react/menu";
import { type ButtonHTMLAttributes, cloneElement, type ReactElement, type ReactNode, useState } from "react";
import { IconButton } from "./button.tsx";
import css from "./menu.module.css";

export interface MenuItem {
  label: string;
  icon?: ReactNode;
  isDanger?: boolean;
  refused?: string | false | undefined;
  onSelect: () => void;
}

/** Three dots. A list has them in each row, and a browser draws a background in a fraction of the time of a picture. */
const MORE = <span className={css.dots} aria-hidden="true" />;

type Items = readonly (MenuItem | false | undefined)[];

export function Menu({
  items,
  trigger,
  label = "More actions",
}: {
  /** A row of a list gives a function, which is called when its menu is open. */
  items: Items | (() => Items);
  trigger?: ReactElement;
  label?: string;
}) {
  // A list has a menu in each row, and people open few of them: the menu is made when its button is first pressed.
  // Its row may become that of another record, which an open menu must not act on.
  const [madeFor, setMadeFor] = useState<string>();
  const isThere = (item: Items[number]) => Boolean(item);
  if (typeof items !== "function" && !items.some(isThere)) return null;
  const button = trigger ?? <IconButton label={label} icon={MORE} isLight />;
  if (madeFor !== label) {
    return cloneElement(button as ReactElement<ButtonHTMLAttributes<HTMLButtonElement>>, {
      "aria-haspopup": "menu",
      "aria-expanded": false,
      onClick: () => setMadeFor(label),
    });
  }
  const shown = (typeof items === "function" ? items() : items).filter(isThere) as MenuItem[];
  return (
    <Base.Root defaultOpen>
      <Base.Trigger render={button} />
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
