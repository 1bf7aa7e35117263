/** The frame around every page of a signed-in person: navigation, connection, search, keys. */

import { useQueryClient } from "@tanstack/react-query";
import { Outlet, useLocation, useRouter } from "@tanstack/react-router";
import { LogOut, Menu as MenuIcon, Moon, Search, Sun } from "lucide-react";
import { lazy, Suspense, useEffect, useState, useSyncExternalStore } from "react";
import { connectionNow, followEvents, watchConnection } from "../api/events.ts";
import type { Connection } from "../api/follow.ts";
import { type Me, SignedInAs, useMe } from "../api/me.ts";
import { useWrite } from "../api/queries.ts";
import { leaveAfter } from "../api/session.ts";
import { Button, IconButton } from "../design/button.tsx";
import { onTheme } from "../design/colors.ts";
import { When } from "../design/facts.tsx";
import { Refused, Skeleton } from "../design/layout.tsx";
import { sayRefused, Toasts } from "../design/toast.tsx";
import { Keys } from "./keys.tsx";
import { NoPassword } from "./no-password.tsx";
import { isAt, PlaceLink } from "./place-link.tsx";
import { places } from "./places.ts";
import css from "./shell.module.css";
import { stringifySearch } from "./view.ts";

const Palette = lazy(() => import("./palette.tsx"));

export function Shell() {
  const me = useMe();
  if (me.data)
    return (
      <SignedInAs value={me.data}>
        <SignedIn me={me.data} />
      </SignedInAs>
    );
  if (me.error?.status === 401) return <ToSignIn />;
  if (me.error) {
    return (
      <div className={css.alone}>
        <Refused refusal={me.error} retry={() => void me.refetch()} />
        {/* Such a session leads nowhere. Another person or account may be let in. */}
        {me.error.status === 403 && <KeptOut />}
      </div>
    );
  }
  return <Skeleton />;
}

function KeptOut() {
  const signOut = useWrite("signOut", { onSuccess: leaveAfter });
  return (
    <p className={css.instead}>
      <Button isBusy={signOut.isPending} onClick={() => signOut.mutate({}, { onError: sayRefused })}>
        Sign out
      </Button>
    </p>
  );
}

/** Goes there once: the frame stays until the page is loaded, and would otherwise note the way there as where to go next. */
function ToSignIn() {
  const router = useRouter();
  useEffect(() => {
    const here = location.pathname + location.search + location.hash;
    router.history.replace(`/sign-in${stringifySearch({ next: here === "/" ? undefined : here })}`);
  }, [router]);
  return null;
}

function SignedIn({ me }: { me: Me }) {
  const connection = useEvents();
  const [isSearching, setSearching] = useState(false);
  const hasSearched = useHasBeen(isSearching);
  const [isNavOpen, setNavOpen] = useState(false);
  const { pathname } = useLocation();
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new page closes the navigation of a phone
  useEffect(() => setNavOpen(false), [pathname]);
  useKeptFocus();
  return (
    <div className={css.shell} data-nav-open={isNavOpen || undefined}>
      <a href="#content" className={css.skip}>
        Skip to the content
      </a>
      <header className={css.bar}>
        <IconButton
          label="Navigation"
          icon={<MenuIcon />}
          onClick={() => setNavOpen(!isNavOpen)}
          aria-expanded={isNavOpen}
        />
        <PlaceLink to="/" className={css.brand}>
          Millrace
        </PlaceLink>
        <IconButton label="Search" icon={<Search />} onClick={() => setSearching(true)} />
      </header>
      <nav className={css.nav} aria-label="Main">
        <PlaceLink to="/" className={css.brand}>
          <Mark /> Millrace
        </PlaceLink>
        <button type="button" className={css.search} onClick={() => setSearching(true)}>
          <Search /> Search <kbd>Ctrl K</kbd>
        </button>
        {places.map((group) => {
          const shown = group.places.filter((place) => !place.isForOperators || me.ownsInstallation);
          return shown.length === 0 ? null : (
            <div key={group.title ?? ""} className={css.group}>
              {group.title && <h2 className={css.groupTitle}>{group.title}</h2>}
              {shown.map(({ title, path, icon: Icon }) => (
                <PlaceLink key={path} to={path} className={css.place} isHere={isAt(pathname, path)}>
                  <Icon />
                  {title}
                </PlaceLink>
              ))}
            </div>
          );
        })}
        <div className={css.foot}>
          <PlaceLink to="/account" className={css.me}>
            <span>{me.person?.name ?? me.person?.email ?? me.account.name}</span>
            <span className="quiet">{me.account.name}</span>
          </PlaceLink>
          <ThemeButton />
          {me.session && <SignOutButton />}
        </div>
      </nav>
      <main className={css.main} id="content" tabIndex={-1}>
        <Lost connection={connection} />
        <NoPassword me={me} />
        <Outlet />
      </main>
      {hasSearched && (
        <Suspense>
          <Palette isOpen={isSearching} onOpenChange={setSearching} />
        </Suspense>
      )}
      <Keys onSearch={() => setSearching(true)} />
      <Toasts />
    </div>
  );
}

/** As `favicon.svg`. Drawn here, since a browser makes a document of its own for each image of this kind. */
function Mark() {
  return (
    <svg viewBox="0 0 32 32" width="20" height="20" aria-hidden="true">
      <rect width="32" height="32" rx="7" fill="#0f6b7a" />
      <path
        d="M5 12c3.7 0 3.7 3 7.3 3s3.7-3 7.4-3 3.6 3 7.3 3M5 19c3.7 0 3.7 3 7.3 3s3.7-3 7.4-3 3.6 3 7.3 3"
        fill="none"
        stroke="#fff"
        strokeWidth="2.6"
        strokeLinecap="round"
      />
    </svg>
  );
}

/** What was open once stays, so that it can close in its own time. */
function useHasBeen(isNow: boolean): boolean {
  const [hasBeen, setBeen] = useState(isNow);
  if (isNow && !hasBeen) setBeen(true);
  return hasBeen || isNow;
}

const DIALOG_CLOSES_MS = 300;

/** What had the focus may be gone with the page before. Then the next page takes it, so that keys go on from its beginning. */
function useKeptFocus(): void {
  const router = useRouter();
  useEffect(() => {
    let timers: ReturnType<typeof setTimeout>[] = [];
    const look = () => {
      if (document.activeElement === document.body) document.getElementById("content")?.focus({ preventScroll: true });
    };
    const unsubscribe = router.subscribe("onRendered", ({ fromLocation, pathChanged }) => {
      // The first page has nothing before it. There the keys begin at the top, with the link that skips the navigation.
      if (!fromLocation || !pathChanged) return;
      // A dialog that closes on the way gives the focus back to what is gone, a moment later.
      timers = [0, DIALOG_CLOSES_MS].map((ms) => setTimeout(look, ms));
    });
    return () => {
      unsubscribe();
      timers.forEach(clearTimeout);
    };
  }, [router]);
}

function useEvents(): Connection {
  const cache = useQueryClient();
  useEffect(() => followEvents(cache), [cache]);
  return useSyncExternalStore(watchConnection, connectionNow);
}

/** A stream that is opened again within this time is not worth a word. */
const WORTH_SAYING_MS = 2000;

function Lost({ connection: { isOpen, since, refusal } }: { connection: Connection }) {
  const [isLong, setLong] = useState(false);
  useEffect(() => {
    setLong(false);
    if (isOpen) return;
    const timer = setTimeout(() => setLong(true), WORTH_SAYING_MS);
    return () => clearTimeout(timer);
  }, [isOpen]);
  if (isOpen || !isLong) return null;
  return (
    <div className={css.lost} role="status">
      {refusal ? refusal.message : "The connection to the server is lost. What you see may be old."} Since{" "}
      <When at={since} />.
    </div>
  );
}

function SignOutButton() {
  const signOut = useWrite("signOut", { onSuccess: leaveAfter });
  return (
    <IconButton
      label="Sign out"
      size="small"
      icon={<LogOut />}
      isBusy={signOut.isPending}
      onClick={() => signOut.mutate({}, { onError: sayRefused })}
    />
  );
}

const isDarkNow = () => {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
};

function ThemeButton() {
  const [isDark, setDark] = useState(isDarkNow);
  useEffect(() => onTheme(() => setDark(isDarkNow())), []);
  const turn = () => {
    const theme = isDark ? "light" : "dark";
    document.documentElement.dataset.theme = theme;
    localStorage.setItem("millrace.theme", theme);
  };
  return (
    <IconButton
      label={isDark ? "Light theme" : "Dark theme"}
      size="small"
      icon={isDark ? <Sun /> : <Moon />}
      onClick={turn}
    />
  );
}
