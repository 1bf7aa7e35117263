/** A secret that the server says this once: to copy now, or never. */
import type { ReactNode } from "react";
import { Button } from "../design/button.tsx";
import { Code } from "../design/code.tsx";
import { Dialog } from "../design/dialog.tsx";
import css from "./shown-once.module.css";

interface ShownOnceProps {
  isOpen: boolean;
  onClose: () => void;
  title: string;
  /** What it is for, and that it will not be shown again. */
  about: ReactNode;
  secrets: readonly { label: string; text: string }[];
  /** How to use it at once. */
  children?: ReactNode;
}

export function ShownOnce({ isOpen, onClose, title, about, secrets, children }: ShownOnceProps) {
  return (
    <Dialog isOpen={isOpen} onClose={onClose} title={title} about={about} isFirm>
      {secrets.map(({ label, text }) => (
        <div key={label} className={css.secret}>
          <span className={css.label}>{label}</span>
          <Code text={text} label={`Copy: ${label}`} />
        </div>
      ))}
      {children}
      <div className={css.buttons}>
        <Button kind="primary" onClick={onClose}>
          I have copied it
        </Button>
      </div>
    </Dialog>
  );
}
