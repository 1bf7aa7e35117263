/** Short news at the corner: what was done, or why it was refused. */
import { Toast } from "@base-ui/react/toast";
import { X } from "lucide-react";
import { Refusal } from "../api/refusal.ts";
import { IconButton } from "./button.tsx";
import css from "./toast.module.css";

const manager = Toast.createToastManager();

export function say(title: string, description?: string): void {
  manager.add({ title, description });
}

/** For failed writes that no form shows. */
export function sayRefused(error: unknown): void {
  const { message, remedy } = error instanceof Refusal ? error : { message: String(error), remedy: undefined };
  manager.add({ title: message, description: remedy, type: "bad", timeout: 12_000, priority: "high" });
}

export function Toasts() {
  return (
    <Toast.Provider toastManager={manager}>
      <Toast.Portal>
        <Toast.Viewport className={css.viewport!}>
          <List />
        </Toast.Viewport>
      </Toast.Portal>
    </Toast.Provider>
  );
}

function List() {
  const { toasts } = Toast.useToastManager();
  return toasts.map((toast) => (
    <Toast.Root key={toast.id} toast={toast} className={css.toast!} data-tone={toast.type}>
      <div>
        <Toast.Title className={css.title!} />
        <Toast.Description className={css.about!} />
      </div>
      <Toast.Close render={<IconButton label="Dismiss" size="small" icon={<X />} />} />
    </Toast.Root>
  ));
}
