/** Dialogs: one for forms, and one that asks before something is lost. */
import { AlertDialog } from "@base-ui/react/alert-dialog";
import { Dialog as Base } from "@base-ui/react/dialog";
import { X } from "lucide-react";
import { type ReactNode, useState } from "react";
import type { Refusal } from "../api/refusal.ts";
import { Button, IconButton } from "./button.tsx";
import css from "./dialog.module.css";
import { TextField } from "./field.tsx";
import { Refused } from "./layout.tsx";
import { seenText } from "./seen-text.ts";

interface DialogProps {
  isOpen: boolean;
  onClose: () => void;
  title: string;
  about?: ReactNode;
  /** As a panel at the side, for what has much in it. */
  isDrawer?: boolean;
  /** Stays when somebody presses beside it, since what it shows cannot be shown again. */
  isFirm?: boolean;
  children: ReactNode;
}

export function Dialog({ isOpen, onClose, title, about, isDrawer, isFirm, children }: DialogProps) {
  // A slip of the pointer must not lose what was typed either.
  const [hasTyped, setTyped] = useState(false);
  if (!isOpen && hasTyped) setTyped(false);
  return (
    <Base.Root
      open={isOpen}
      onOpenChange={(open) => !open && onClose()}
      disablePointerDismissal={isFirm === true || hasTyped}
    >
      <Base.Portal>
        <Base.Backdrop className={css.backdrop!} />
        <Base.Popup className={isDrawer ? css.drawer! : css.popup!} onInput={() => setTyped(true)}>
          <header className={css.head}>
            <Base.Title className={css.title!}>{title}</Base.Title>
            <Base.Close render={<IconButton label="Close" icon={<X />} />} />
          </header>
          {about && <Base.Description className={css.about!}>{about}</Base.Description>}
          <div className={css.body}>{children}</div>
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}

interface DialogFootProps {
  onCancel: () => void;
  /** The word for leaving, where nothing is cancelled by it. */
  leaving?: string;
  /** What else can be done here, apart from what the dialog is for. */
  beside?: ReactNode;
  /** The button of what the dialog is for. */
  children: ReactNode;
}

/** The buttons of a form in a dialog. They stay in view, however long the form is. */
export function DialogFoot({ onCancel, leaving = "Cancel", beside, children }: DialogFootProps) {
  return (
    <footer className={css.foot}>
      {beside && <div className={css.beside}>{beside}</div>}
      <Button onClick={onCancel}>{leaving}</Button>
      {children}
    </footer>
  );
}

interface ConfirmProps {
  isOpen: boolean;
  onClose: () => void;
  title: string;
  /** What will be lost or stopped, by name. */
  children: ReactNode;
  /** The verb on the button. */
  verb: string;
  /** What the other button says. */
  keeping?: string;
  /** Has to be typed, where what is lost cannot be made again. */
  typed?: string;
  isBusy?: boolean;
  refusal?: Refusal | null;
  onConfirm: () => void;
}

export function Confirm({
  isOpen,
  onClose,
  title,
  children,
  verb,
  keeping = "Keep it",
  typed,
  isBusy,
  refusal,
  onConfirm,
}: ConfirmProps) {
  const [said, setSaid] = useState("");
  const wanted = typed === undefined ? undefined : seenText(typed) || verb;
  const refused = wanted !== undefined && seenText(said) !== wanted ? `Type ${wanted} first` : undefined;
  return (
    <AlertDialog.Root
      open={isOpen}
      onOpenChange={(open) => {
        if (open) return;
        setSaid("");
        onClose();
      }}
    >
      <AlertDialog.Portal>
        <AlertDialog.Backdrop className={css.backdrop!} />
        <AlertDialog.Popup className={css.popup!}>
          <AlertDialog.Title className={css.title!}>{title}</AlertDialog.Title>
          <AlertDialog.Description render={<div />} className={css.about!}>
            {children}
          </AlertDialog.Description>
          <form
            className={css.body}
            onSubmit={(event) => {
              event.preventDefault();
              if (!refused && !isBusy) onConfirm();
            }}
          >
            {wanted !== undefined && (
              <TextField label={`Type ${wanted} to go on`} value={said} onChange={setSaid} isCode autoFocus />
            )}
            {refusal && <Refused refusal={refusal} />}
            <footer className={css.foot}>
              <AlertDialog.Close render={<Button>{keeping}</Button>} />
              <Button type="submit" kind="danger" refused={refused} isBusy={isBusy ?? false}>
                {verb}
              </Button>
            </footer>
          </form>
        </AlertDialog.Popup>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  );
}
