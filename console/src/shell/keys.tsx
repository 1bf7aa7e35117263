/** Keys that work everywhere: Ctrl-K searches, `g` and a letter go to a place, `?` shows them all. */
import { useNavigate } from "@tanstack/react-router";
import { lazy, Suspense, useEffect, useState } from "react";
import { isTyping } from "../design/is-typing.ts";
import { allPlaces } from "./places.ts";

const KeyList = lazy(() => import("./key-list.tsx"));

/** How long a `g` waits for its letter. */
const CHORD_MS = 1200;

export function Keys({ onSearch }: { onSearch: () => void }) {
  const navigate = useNavigate();
  const [isShown, setShown] = useState(false);
  useEffect(() => {
    let goUntil = 0;
    const press = (event: KeyboardEvent) => {
      if ((event.ctrlKey || event.metaKey) && event.key === "k") {
        event.preventDefault();
        return onSearch();
      }
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      if (event.key === "?") return setShown(true);
      if (event.key === "/") {
        event.preventDefault();
        return onSearch();
      }
      if (Date.now() < goUntil) {
        const place = allPlaces.find(({ letter }) => letter === event.key);
        if (place) void navigate({ to: place.path });
      }
      goUntil = event.key === "g" ? Date.now() + CHORD_MS : 0;
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, [navigate, onSearch]);
  return isShown ? (
    <Suspense>
      <KeyList onClose={() => setShown(false)} />
    </Suspense>
  ) : null;
}
