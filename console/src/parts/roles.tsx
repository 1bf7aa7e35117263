/** Roles in words of what they may do, and the choice of one. */
import { Radio } from "@base-ui/react/radio";
import { RadioGroup } from "@base-ui/react/radio-group";
import type { Role } from "../api/me.ts";
import css from "./roles.module.css";

export const roleWords: Record<Role, string> = {
  owner: "An owner may do everything, also manage people, limits and the account.",
  member:
    "A member creates, changes and deletes what runs, and opens terminals. Members see the account and its bill, and change neither people nor limits.",
  viewer: "A viewer sees everything and changes nothing. Viewers run no jobs and open no terminals.",
};

export const allRoles = Object.keys(roleWords) as Role[];

interface RoleChoiceProps {
  value: Role;
  onChange: (role: Role) => void;
  /** Why a role cannot be chosen. */
  refused?: (role: Role) => string | undefined;
}

export function RoleChoice({ value, onChange, refused }: RoleChoiceProps) {
  return (
    <RadioGroup value={value} onValueChange={(role) => onChange(role as Role)} aria-label="Role" className={css.roles!}>
      {allRoles.map((role) => {
        const why = refused?.(role);
        return (
          // biome-ignore lint/a11y/noLabelWithoutControl: the radio is the control
          <label
            key={role}
            className={css.role}
            data-chosen={role === value || undefined}
            data-off={why ? true : undefined}
          >
            <Radio.Root value={role} disabled={why !== undefined} className={css.radio!}>
              <Radio.Indicator className={css.dot!} />
            </Radio.Root>
            <span>
              <span className={css.name}>{role}</span>
              <span className={css.words}>{why ?? roleWords[role]}</span>
            </span>
          </label>
        );
      })}
    </RadioGroup>
  );
}
