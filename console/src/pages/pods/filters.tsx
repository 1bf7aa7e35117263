/** A filter above a list that takes several of a few values. */
import { Popover } from "@base-ui/react/popover";
import { Button } from "../../design/button.tsx";
import { Tick } from "../../design/field.tsx";
import css from "./pods.module.css";

interface ManyOfProps {
  label: string;
  options: readonly { value: string; label: string }[];
  chosen: readonly string[];
  onChange: (values: string[]) => void;
}

/** None chosen means all. */
export function ManyOf({ label, options, chosen, onChange }: ManyOfProps) {
  const named = options.filter(({ value }) => chosen.includes(value)).map((option) => option.label);
  return (
    <Popover.Root>
      <Popover.Trigger render={<Button />}>
        {label}
        {named.length > 0 && <span className="quiet">{named.join(", ")}</span>}
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Positioner sideOffset={4} align="start" className={css.over!}>
          <Popover.Popup className={css.ticks!} aria-label={label}>
            {options.map(({ value, label: text }) => (
              <Tick
                key={value}
                label={text}
                value={chosen.includes(value)}
                onChange={(on) => onChange(on ? [...chosen, value] : chosen.filter((one) => one !== value))}
              />
            ))}
            <Button size="small" kind="quiet" onClick={() => onChange([])}>
              Show all
            </Button>
          </Popover.Popup>
        </Popover.Positioner>
      </Popover.Portal>
    </Popover.Root>
  );
}
