/** The box in which people search: above tables and in logs. */
import { Search } from "lucide-react";
import type { KeyboardEvent } from "react";
import css from "./search-box.module.css";

interface SearchBoxProps {
  /** Is read aloud, and stands in the empty box. */
  label: string;
  value: string;
  onChange: (value: string) => void;
  onKeyDown?: (event: KeyboardEvent) => void;
  /** For ids and sentences. */
  isWide?: boolean;
}

export function SearchBox({ label, value, onChange, onKeyDown, isWide }: SearchBoxProps) {
  return (
    <label className={css.search} data-wide={isWide || undefined}>
      <Search aria-hidden="true" />
      <input
        type="search"
        aria-label={label}
        placeholder={label}
        value={value}
        spellCheck={false}
        autoComplete="off"
        onChange={({ target }) => onChange(target.value)}
        onKeyDown={onKeyDown}
      />
    </label>
  );
}
