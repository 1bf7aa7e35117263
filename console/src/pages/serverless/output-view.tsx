/** An input or an output: pictures as pictures, text as text, the rest as JSON, and what is too long as a download. */
import { Download } from "lucide-react";
import { lazy, Suspense } from "react";
import { Button } from "../../design/button.tsx";
import { Code } from "../../design/code.tsx";
import { countText, sizeText } from "../../design/facts.tsx";
import { Skeleton } from "../../design/layout.tsx";
import { download } from "../../design/table-tools.tsx";
import { longOutput, picturesIn, shownJson } from "./output-parts.ts";
import css from "./output-view.module.css";

const JsonEditor = lazy(() => import("../../design/json-editor.tsx"));

/** More than this is not drawn: nobody reads it here, and it makes the page slow. */
const LONGEST_SHOWN = 400_000;

interface OutputViewProps {
  value: unknown;
  label: string;
  /** Names the download. */
  name: string;
}

export function OutputView({ value, label, name }: OutputViewProps) {
  const long = longOutput(value);
  if (long) {
    return (
      <div className={css.long}>
        <p>
          The output has {sizeText(long.bytes)}, which is too long for the record. It can be downloaded for as long as
          the result is kept.
        </p>
        <a href={long.url} download={`${name}.json`} className={css.download}>
          <Download aria-hidden="true" /> Download the output
        </a>
      </div>
    );
  }
  if (typeof value === "string" && picturesIn(value).length === 0 && value.length <= LONGEST_SHOWN)
    return <Code text={value} label={`Copy the ${label.toLowerCase()}`} />;
  return <Structured value={value} label={label} name={name} />;
}

function Structured({ value, label, name }: OutputViewProps) {
  const pictures = picturesIn(value);
  const { text, isCut } = shownJson(value);
  const isLong = text.length > LONGEST_SHOWN;
  return (
    <div className={css.parts}>
      {pictures.length > 0 && (
        <div className={css.pictures}>
          {pictures.map(({ path, src }) => (
            <figure key={path} className={css.picture}>
              <img src={src} alt={`${label} ${path}`} />
              <figcaption>
                <code>{path || label}</code>
              </figcaption>
            </figure>
          ))}
        </div>
      )}
      {isLong ? (
        <p className="quiet">
          It has {countText(text.length)} characters, which is too long to show here. Download it to read it.
        </p>
      ) : (
        <Suspense fallback={<Skeleton lines={4} />}>
          <JsonEditor label={label} value={text} isReadOnly />
        </Suspense>
      )}
      <div className={css.foot}>
        {isCut && <span className="quiet">Long texts are cut here, and whole in the download.</span>}
        <Button
          size="small"
          kind="quiet"
          icon={<Download />}
          onClick={() => download(`${name}.json`, JSON.stringify(value, null, 2), "application/json")}
        >
          Download
        </Button>
      </div>
    </div>
  );
}
