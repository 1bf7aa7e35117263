/** What is free of a type, in words, and where. */
import { Status, type Tone } from "../../design/facts.tsx";
import { type Availability, placesText } from "./places.ts";

const TONES: Record<Availability, Tone> = { NONE: "idle", LOW: "wait", MEDIUM: "good", HIGH: "good" };
const WORDS: Record<Availability, string> = { NONE: "None free", LOW: "Low", MEDIUM: "Some", HIGH: "Many" };

export function Free({ value }: { value: Availability | undefined }) {
  if (value === undefined) return <span className="quiet">–</span>;
  return <Status value={WORDS[value]} tone={TONES[value]} />;
}

export function Places({ places }: { places: readonly { id: string; availability: Availability }[] | undefined }) {
  if (!places?.length) return <span className="quiet">Nowhere</span>;
  return (
    <span title={places.map(({ id, availability }) => `${id}: ${WORDS[availability]}`).join("\n")}>
      {placesText(places)}
    </span>
  );
}
