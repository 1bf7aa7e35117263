/** A field of the line above a table that filters when typing stops. */
import { useEffect, useState } from "react";
import { SearchBox } from "../design/search-box.tsx";

/** How long typing pauses before the rows are asked for. */
const PAUSE_MS = 250;

export function SearchField({
  label,
  value,
  onChange,
}: {
  label: string;
  value: string;
  onChange: (value: string) => void;
}) {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    if (text === value) return;
    const timer = setTimeout(() => onChange(text), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text, value, onChange]);
  return <SearchBox label={label} value={text} onChange={setText} />;
}
