/** Ctrl-K: finds every place, action and resource by name or id. */
import { Dialog as Base } from "@base-ui/react/dialog";
import { useQueries } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useMemo, useRef, useState } from "react";
import { callAny } from "../api/client.ts";
import { useMe } from "../api/me.ts";
import { keyOf } from "../api/queries.ts";
import { type Resource, resources } from "../api/resources.ts";
import { accountTabs } from "../pages/account/frame.tsx";
import { installationTabs } from "../pages/installation/frame.tsx";
import css from "./palette.module.css";
import { allPlaces } from "./places.ts";

interface Found {
  key: string;
  title: string;
  about: string;
  to: string;
  search?: Record<string, string>;
}

const MOST_SHOWN = 30;
const searched: Resource[] = Object.values(resources);
/** Actions that begin somewhere else than in a list. */
const actions: Found[] = [
  ...searched
    .filter(({ create }) => create)
    .map(({ one, path, creating = `Create ${one}` }) => ({
      ...{ key: `new ${one}`, title: creating, about: "Action", to: `${path}/new` },
    })),
  { key: "new key", title: "Create API key", about: "Action", to: "/account/keys", search: { do: "create" } },
];

/** The tabs of a place, behind the first, which is the place itself. */
const tabsOf = (about: string, tabs: readonly { label: string; to: string }[]): Found[] =>
  tabs.slice(1).map(({ label, to }) => ({ key: to, title: label, about, to }));
const ofAccount = tabsOf("Account", accountTabs);
const ofInstallation = tabsOf("Installation", installationTabs);

export default function Palette({
  isOpen,
  onOpenChange,
}: {
  isOpen: boolean;
  onOpenChange: (isOpen: boolean) => void;
}) {
  // What had the focus before is on the page that was left. Without a choice it gets the focus back.
  const isChosen = useRef(false);
  const finalFocus = () => {
    const content = isChosen.current ? document.getElementById("content") : true;
    isChosen.current = false;
    return content;
  };
  return (
    <Base.Root open={isOpen} onOpenChange={onOpenChange}>
      <Base.Portal>
        <Base.Backdrop className={css.backdrop!} />
        <Base.Popup className={css.popup!} aria-label="Search" finalFocus={finalFocus}>
          <Finder
            onDone={() => {
              isChosen.current = true;
              onOpenChange(false);
            }}
          />
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}

function Finder({ onDone }: { onDone: () => void }) {
  const navigate = useNavigate();
  const { data: me } = useMe();
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const records = useRecords();
  const found = useMemo(() => {
    const pages = allPlaces
      .filter((place) => !place.isForOperators || me?.ownsInstallation)
      .map(({ title, path }) => ({ key: path, title, about: "Page", to: path }));
    const tabs = me?.ownsInstallation ? [...ofAccount, ...ofInstallation] : ofAccount;
    return matching(text, [...pages, ...tabs, ...records, ...actions]);
  }, [text, records, me]);
  const open = (one: Found | undefined) => {
    if (!one) return;
    onDone();
    void navigate({ to: one.to, ...(one.search && { search: one.search }) });
  };
  return (
    <>
      <input
        className={css.input}
        placeholder="Search pages, resources and actions, by name or id"
        aria-label="Search"
        role="combobox"
        aria-expanded="true"
        aria-controls="found"
        aria-activedescendant={found[at] ? `found-${at}` : undefined}
        value={text}
        onChange={({ target }) => {
          setText(target.value);
          setAt(0);
        }}
        onKeyDown={(event) => {
          if (event.key === "ArrowDown") setAt(Math.min(at + 1, found.length - 1));
          else if (event.key === "ArrowUp") setAt(Math.max(at - 1, 0));
          else if (event.key === "Enter") open(found[at]);
          else return;
          event.preventDefault();
        }}
      />
      <div className={css.found} id="found" role="listbox" aria-label="Found">
        {found.map((one, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the input above has the focus and takes the keys
          // biome-ignore lint/a11y/useFocusableInteractive: aria-activedescendant points at it
          <div
            key={one.key}
            id={`found-${index}`}
            role="option"
            aria-selected={index === at}
            className={css.one}
            onMouseMove={() => setAt(index)}
            onClick={() => open(one)}
          >
            <span>{one.title}</span>
            <span className="quiet">{one.about}</span>
          </div>
        ))}
        {found.length === 0 && <p className={css.none}>Nothing is called “{text}”.</p>}
      </div>
    </>
  );
}

/** Reads a page of each list when the search opens; the cache of the lists serves it too. */
function useRecords(): Found[] {
  const answers = useQueries({
    queries: searched.map(({ list }) => ({
      queryKey: keyOf(list, {}),
      queryFn: ({ signal }: { signal: AbortSignal }) => callAny(list, {}, signal),
      retry: false,
    })),
  });
  return searched.flatMap(({ one, path, key }, index) => {
    const rows = ((answers[index]?.data as Record<string, unknown> | undefined)?.[key] ?? []) as {
      id: string;
      name?: string;
    }[];
    return rows.map(({ id, name }) => ({ key: id, title: name ?? id, about: `${one} · ${id}`, to: `${path}/${id}` }));
  });
}

/** All words somewhere in the name or the id, names that begin with the text first. */
function matching(text: string, all: readonly Found[]): Found[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const has = ({ title, about }: Found) => words.every((word) => `${title} ${about}`.toLowerCase().includes(word));
  const begins = ({ title }: Found) => Number(title.toLowerCase().startsWith(words[0] ?? ""));
  return all
    .filter(has)
    .toSorted((one, other) => begins(other) - begins(one))
    .slice(0, MOST_SHOWN);
}
