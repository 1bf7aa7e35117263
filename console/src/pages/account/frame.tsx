/** The frame of the pages of an account: one title, and a tab for each. */
import type { ReactNode } from "react";
import { useMe } from "../../api/me.ts";
import { Page } from "../../design/layout.tsx";
import { TabLinks } from "../../design/tabs.tsx";

export const accountTabs = [
  { label: "Profile", to: "/account" },
  { label: "People", to: "/account/people" },
  { label: "API keys", to: "/account/keys" },
  { label: "SSH keys", to: "/account/ssh-keys" },
  { label: "S3 keys", to: "/account/s3-keys" },
  { label: "Limits", to: "/account/limits" },
] as const;

interface AccountPageProps {
  /** For the tab of the browser. */
  name: string;
  curl: string;
  actions?: ReactNode;
  children: ReactNode;
}

export function AccountPage({ name, curl, actions, children }: AccountPageProps) {
  const me = useMe();
  return (
    <Page
      title="Account"
      name={name}
      about={me.data?.account.name}
      curl={curl}
      actions={actions}
      tabs={<TabLinks label="Account" tabs={accountTabs} />}
    >
      {children}
    </Page>
  );
}
