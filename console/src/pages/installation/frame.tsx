/** The frame of the pages for whoever runs the installation: one title, and a tab for each. */
import type { ReactNode } from "react";
import { useMe } from "../../api/me.ts";
import { Empty, Page } from "../../design/layout.tsx";
import { TabLinks } from "../../design/tabs.tsx";

export const installationTabs = [
  { label: "Health", to: "/installation" },
  { label: "Accounts", to: "/installation/accounts" },
  { label: "Models", to: "/installation/models" },
  { label: "Prices", to: "/installation/prices" },
  { label: "Duties", to: "/installation/duties" },
] as const;

interface InstallationPageProps {
  /** For the tab of the browser. */
  name: string;
  curl?: string;
  actions?: ReactNode;
  children: ReactNode;
}

export function InstallationPage({ name, children, actions, ...page }: InstallationPageProps) {
  const me = useMe();
  const isForOthers = me.data?.ownsInstallation === false;
  const tabs = <TabLinks label="Installation" tabs={installationTabs} />;
  return (
    <Page title="Installation" name={name} {...page} tabs={tabs} actions={isForOthers ? undefined : actions}>
      {isForOthers ? (
        <Empty title="Only for the owner of the installation">
          An owner of the first account sees these pages. Ask them, or sign in as one.
        </Empty>
      ) : (
        children
      )}
    </Page>
  );
}
