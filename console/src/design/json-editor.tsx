/** An editor for JSON that marks mistakes as they are typed. Loaded with the pages that have one. */
import { json, jsonParseLinter } from "@codemirror/lang-json";
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { linter, lintGutter } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import { EditorView, keymap } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { basicSetup } from "codemirror";
import { useEffect, useRef } from "react";
import css from "./json-editor.module.css";

interface JsonEditorProps {
  label: string;
  value: string;
  onChange?: (value: string) => void;
  /** Ctrl-Enter. */
  onSubmit?: () => void;
  isReadOnly?: boolean;
}

const look = EditorView.theme({
  "&": { fontSize: "12.5px", backgroundColor: "transparent", color: "var(--text)" },
  ".cm-content": { fontFamily: "var(--mono)", caretColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "transparent", color: "var(--faint)", border: "none" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--hover)" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "color-mix(in oklab, var(--accent) 25%, transparent) !important",
  },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
});

/** Colours of the palette, which can be read in both themes. */
const inks = HighlightStyle.define([
  { tag: tags.propertyName, color: "var(--accent)" },
  { tag: tags.string, color: "var(--text)" },
  { tag: tags.number, color: "var(--series-2)" },
  { tag: [tags.bool, tags.null], color: "var(--series-3)" },
  { tag: tags.punctuation, color: "var(--quiet)" },
]);

export default function JsonEditor({ label, value, onChange, onSubmit, isReadOnly }: JsonEditorProps) {
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(null);
  const handlers = useRef({ onChange, onSubmit });
  handlers.current = { onChange, onSubmit };
  // biome-ignore lint/correctness/useExhaustiveDependencies: the editor is made once, and the effect below brings later values
  useEffect(() => {
    const submit = () => {
      handlers.current.onSubmit?.();
      return true;
    };
    // The security policy forbids style elements. In a shadow tree the editor uses sheets that the tree adopts.
    const root = place.current!.shadowRoot ?? place.current!.attachShadow({ mode: "open" });
    view.current = new EditorView({
      parent: root,
      root,
      state: EditorState.create({
        doc: value,
        extensions: [
          keymap.of([{ key: "Mod-Enter", run: submit }]),
          basicSetup,
          json(),
          syntaxHighlighting(inks),
          ...(isReadOnly ? [EditorState.readOnly.of(true)] : [linter(jsonParseLinter()), lintGutter()]),
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({ "aria-label": label }),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) handlers.current.onChange?.(update.state.doc.toString());
          }),
          look,
        ],
      }),
    });
    return () => view.current?.destroy();
  }, []);
  useEffect(() => {
    const state = view.current?.state;
    if (state && state.doc.toString() !== value) {
      view.current!.dispatch({ changes: { from: 0, to: state.doc.length, insert: value } });
    }
  }, [value]);
  return <div ref={place} className={css.editor} />;
}
