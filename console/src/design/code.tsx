/** Code to copy, in one or several languages. */
import { useState } from "react";
import css from "./code.module.css";
import { CopyButton } from "./facts.tsx";

export function Code({ text, label = "Copy" }: { text: string; label?: string }) {
  return (
    <div className={css.code}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a long line is scrolled by keyboard too */}
      <pre tabIndex={0}>{text}</pre>
      <CopyButton text={text} label={label} />
    </div>
  );
}

/** The same call in several languages; the choice is kept for the next one. */
export function CodeTabs({ samples }: { samples: readonly { language: string; text: string }[] }) {
  const [language, setLanguage] = useState(() => localStorage.getItem("millrace.language") ?? samples[0]!.language);
  const shown = samples.find((sample) => sample.language === language) ?? samples[0]!;
  return (
    <div>
      <div className={css.languages} role="tablist" aria-label="Language">
        {samples.map((sample) => (
          <button
            key={sample.language}
            type="button"
            role="tab"
            aria-selected={sample === shown}
            className={css.language}
            onClick={() => {
              localStorage.setItem("millrace.language", sample.language);
              setLanguage(sample.language);
            }}
          >
            {sample.language}
          </button>
        ))}
      </div>
      <Code text={shown.text} />
    </div>
  );
}
