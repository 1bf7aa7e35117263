/** The list of short news at the corner of the window. */
import { Toast } from "@base-ui/react/toast";
import { X } from "lucide-react";
import { useEffect } from "react";
import { IconButton } from "./button.tsx";
import css from "./toast.module.css";

type News = Parameters<typeof manager.add>[0];
const manager = Toast.createToastManager();
/** The manager tells nobody what came before its list was there. */
let early: News[] | undefined = [];

export function show(news: News): void {
  if (early) early.push(news);
  else manager.add(news);
}

export default function ToastList() {
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
  useEffect(() => {
    const waiting = early ?? [];
    early = undefined;
    for (const news of waiting) manager.add(news);
    return () => {
      early = [];
    };
  }, []);
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
