/** The dialog that shows all keys. */
import { Dialog } from "../design/dialog.tsx";
import css from "./palette.module.css";
import { allPlaces } from "./places.ts";

export default function KeyList({ onClose }: { onClose: () => void }) {
  return (
    <Dialog isOpen onClose={onClose} title="Keys">
      <dl className={css.keys}>
        {[
          ["Ctrl K  or  /", "Search everything"],
          ["j  k", "Next and previous row"],
          ["Enter", "Open the row"],
          ["Esc", "Close"],
          ...allPlaces.map(({ letter, title }) => [`g ${letter}`, title]),
        ].map(([keys, meaning]) => (
          <div key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
