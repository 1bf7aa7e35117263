/** The screen of a terminal: xterm.js, its connection, and a bar to search, copy, paste, leave and begin again. */
import { FitAddon } from "@xterm/addon-fit";
import { SearchAddon } from "@xterm/addon-search";
import { WebglAddon } from "@xterm/addon-webgl";
import { type ITheme, Terminal as Xterm } from "@xterm/xterm";
import "@xterm/xterm/css/xterm.css";
import { ArrowDown, ArrowUp, ClipboardPaste, Copy, LogOut, RotateCcw, Search, X } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { Button, IconButton } from "./button.tsx";
import { onTheme, resolvedColor } from "./colors.ts";
import { copyText } from "./copy-text.ts";
import { Status } from "./facts.tsx";
import css from "./terminal.module.css";
import { type LinkState, type Socket, TerminalLink, type TerminalProps } from "./terminal-link.ts";
import { documentForTerminals, withAdoptedStyles } from "./terminal-styles.ts";
import { say, sayRefused } from "./toast.tsx";

interface Shown {
  xterm: Xterm;
  link: TerminalLink;
  search: SearchAddon;
}

export default function TerminalScreen({ label, ask }: TerminalProps) {
  const place = useRef<HTMLDivElement>(null);
  const leaving = useRef<HTMLButtonElement>(null);
  const shown = useRef<Shown>(null);
  const asking = useRef(ask);
  asking.current = ask;
  const [state, setState] = useState<LinkState>({ at: "connecting" });
  const [sought, setSought] = useState<string>();

  useEffect(() => {
    const keys: Keys = {
      leave: () => leaving.current?.focus(),
      search: () => setSought((before) => before ?? ""),
    };
    const made = show(place.current!, (size) => asking.current(size), setState, keys);
    shown.current = made;
    return made.end;
  }, []);

  const seek = (text: string, isBack = false) => {
    setSought(text);
    const { search } = shown.current!;
    if (text === "") search.clearDecorations();
    else if (isBack) search.findPrevious(text);
    else search.findNext(text, { incremental: true });
  };
  const stopSearch = () => {
    setSought(undefined);
    shown.current?.xterm.focus();
  };
  return (
    <section className={css.whole} aria-label={label}>
      <div className={css.bar}>
        <span className={css.state} role="status">
          <StateWords state={state} />
        </span>
        {sought === undefined ? (
          <IconButton label="Search (Ctrl-Shift-F)" icon={<Search />} onClick={() => setSought("")} />
        ) : (
          <SearchBox text={sought} onSeek={seek} onClose={stopSearch} />
        )}
        <IconButton
          label="Copy what is selected (Ctrl-Shift-C)"
          icon={<Copy />}
          onClick={() => shown.current && copySelection(shown.current.xterm)}
        />
        <IconButton
          label="Paste (Ctrl-Shift-V)"
          icon={<ClipboardPaste />}
          onClick={() => shown.current && void paste(shown.current.xterm)}
        />
        <Button
          size="small"
          icon={<RotateCcw />}
          refused={state.at === "connecting" && "It is connecting"}
          onClick={() => {
            void shown.current?.link.open();
            shown.current?.xterm.focus();
          }}
        >
          {state.at === "waiting" ? "Reconnect now" : "New shell"}
        </Button>
        <button
          ref={leaving}
          type="button"
          className={css.leave}
          title="In the terminal, Tab belongs to the program. Ctrl-Shift-X leads out to this button."
        >
          <LogOut /> <kbd>Ctrl-Shift-X</kbd> leaves
        </button>
      </div>
      <div ref={place} className={css.screen} />
    </section>
  );
}

function StateWords({ state }: { state: LinkState }) {
  if (state.at === "connecting") return <Status value="Connecting" tone="wait" />;
  if (state.at === "open") return <Status value="Connected" tone="good" />;
  if (state.at === "waiting") return <Status value={`Connection lost; next try in ${state.seconds} s`} tone="bad" />;
  return (
    <>
      <Status value="Ended" tone={state.isBad ? "bad" : "idle"} />
      <span className={css.why}>{state.text}</span>
    </>
  );
}

interface SearchBoxProps {
  text: string;
  onSeek: (text: string, isBack?: boolean) => void;
  onClose: () => void;
}

function SearchBox({ text, onSeek, onClose }: SearchBoxProps) {
  return (
    <div className={css.search}>
      <input
        aria-label="Search the terminal"
        placeholder="Search"
        // biome-ignore lint/a11y/noAutofocus: a person has just asked for it
        autoFocus
        value={text}
        onChange={({ target }) => onSeek(target.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter") onSeek(text, event.shiftKey);
          if (event.key === "Escape") onClose();
        }}
      />
      <IconButton label="The one before" icon={<ArrowUp />} onClick={() => onSeek(text, true)} />
      <IconButton label="The next one" icon={<ArrowDown />} onClick={() => onSeek(text)} />
      <IconButton label="Close the search" icon={<X />} onClick={onClose} />
    </div>
  );
}

interface Keys {
  leave: () => void;
  search: () => void;
}

function show(
  place: HTMLElement,
  ask: TerminalProps["ask"],
  tell: (state: LinkState) => void,
  keys: Keys,
): Shown & { end: () => void } {
  const xterm = new Xterm({
    documentOverride: documentForTerminals,
    fontFamily: getComputedStyle(place).getPropertyValue("--mono"),
    fontSize: 13,
    theme: themeOf(place),
    minimumContrastRatio: 4.5,
    scrollback: 10_000,
    cursorBlink: !matchMedia("(prefers-reduced-motion: reduce)").matches,
    // What is on the screen is drawn on a canvas: this says it in text beside, for screen readers.
    screenReaderMode: true,
  });
  const fit = new FitAddon();
  const search = new SearchAddon();
  xterm.loadAddon(fit);
  xterm.loadAddon(search);
  withAdoptedStyles(() => xterm.open(place));
  drawQuickly(xterm);
  fit.fit();
  const link = new TerminalLink(
    {
      ask,
      connect: (ticket) => new WebSocket(`${location.origin.replace(/^http/, "ws")}/v2/terminals/${ticket}`) as Socket,
      later: (task, ms) => {
        const timer = setTimeout(task, ms);
        return () => clearTimeout(timer);
      },
      onState: (state) => {
        tell(state);
        sayIn(xterm, state);
      },
      onBytes: (bytes) => xterm.write(bytes),
    },
    { cols: xterm.cols, rows: xterm.rows },
  );
  xterm.onData((text) => link.send(text));
  xterm.onBinary((text) => link.sendBinary(text));
  xterm.onResize(({ cols, rows }) => link.resize({ cols, rows }));
  xterm.attachCustomKeyEventHandler((event) => handleKey(event, xterm, keys));
  const watch = new ResizeObserver(() => fit.fit());
  watch.observe(place);
  const unthemed = onTheme(() => {
    xterm.options.theme = themeOf(place);
  });
  let isOver = false;
  // Cells are measured with the font, so that it has to be there first.
  void document.fonts.load("13px 'JetBrains Mono Variable'").then(() => {
    if (isOver) return;
    fit.fit();
    xterm.focus();
    void link.open();
  });
  const end = () => {
    isOver = true;
    watch.disconnect();
    unthemed();
    link.close();
    xterm.dispose();
  };
  return { xterm, link, search, end };
}

/** By the graphics card, where the browser has one to give; else xterm.js draws with elements. */
function drawQuickly(xterm: Xterm): void {
  try {
    const webgl = new WebglAddon();
    webgl.onContextLoss(() => webgl.dispose());
    xterm.loadAddon(webgl);
  } catch {
    // The other way of drawing is there already. The security policy keeps from it what it sets as style attributes: adjusted and true colours.
    xterm.options.minimumContrastRatio = 1;
  }
}

/** What happened to the connection, as a quiet line between what the programs wrote. */
function sayIn(xterm: Xterm, state: LinkState): void {
  const line = (text: string) => xterm.write(`\r\n\x1b[0m\x1b[2m[${text}]\x1b[0m\r\n`);
  if (state.at === "waiting") line(`Connection lost. The next try, with a new shell, is in ${state.seconds} s.`);
  if (state.at === "ended") line(state.text);
  if (state.at === "open") xterm.write("\x1b[!p");
}

/** Whether xterm.js takes the key. */
function handleKey(event: KeyboardEvent, xterm: Xterm, keys: Keys): boolean {
  if (event.type !== "keydown" || !event.ctrlKey || event.altKey || event.metaKey) return true;
  const key = event.key.toLowerCase();
  if (event.shiftKey && (key === "x" || key === "escape")) keys.leave();
  else if (event.shiftKey && key === "f") keys.search();
  else if (key === "c" && (event.shiftKey || xterm.hasSelection())) copySelection(xterm);
  else return !(event.shiftKey && key === "v");
  event.preventDefault();
  return false;
}

function copySelection(xterm: Xterm): void {
  const text = xterm.getSelection();
  if (text !== "") copyText(text).catch(sayRefused);
  xterm.clearSelection();
  xterm.focus();
}

async function paste(xterm: Xterm): Promise<void> {
  xterm.focus();
  // Over plain http only the keys of the browser itself can paste.
  if (!(navigator.clipboard as Clipboard | undefined)) return say("Press Ctrl Shift V to paste");
  xterm.paste(await navigator.clipboard.readText());
}

const ANSI = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"] as const;

function themeOf(place: HTMLElement): ITheme {
  const style = getComputedStyle(place);
  const color = (token: string) => resolvedColor(place, style.getPropertyValue(token));
  const named = ANSI.flatMap((name) => {
    const value = color(`--ansi-${name}`);
    return [
      [name, value],
      [`bright${name.charAt(0).toUpperCase()}${name.slice(1)}`, value],
    ];
  });
  return {
    ...(Object.fromEntries(named) as ITheme),
    background: color("--sunken"),
    foreground: color("--text"),
    cursor: color("--accent"),
    cursorAccent: color("--sunken"),
    selectionBackground: `${color("--accent")}4d`,
    scrollbarSliderBackground: `${color("--line-strong")}b3`,
    scrollbarSliderHoverBackground: color("--line-strong"),
    scrollbarSliderActiveBackground: color("--faint"),
  };
}
