/** Offers a password to somebody who came by link and has none. They can go on without it. */
import { useLocation } from "@tanstack/react-router";
import { useState } from "react";
import type { Me } from "../api/me.ts";
import { Button, ButtonLink } from "../design/button.tsx";
import css from "./shell.module.css";

const LATER = "millrace.password-later";

export function NoPassword({ me }: { me: Me }) {
  const [isLater, setLater] = useState(() => sessionStorage.getItem(LATER) !== null);
  const { pathname } = useLocation();
  if (me.person?.passwordSet !== false || me.person.byProvider || isLater || pathname === "/account") return null;
  const later = () => {
    sessionStorage.setItem(LATER, "yes");
    setLater(true);
  };
  return (
    <aside className={css.offer} aria-label="Set a password">
      You signed in by link. <span className={css.why}>With a password you can come back without one.</span>
      <ButtonLink to="/account" kind="primary" size="small">
        Set a password
      </ButtonLink>
      <Button kind="quiet" size="small" onClick={later}>
        Later
      </Button>
    </aside>
  );
}
