/** The console begins here. */
import "@fontsource-variable/inter/index.css";
import "@fontsource-variable/jetbrains-mono/index.css";
import "./design/tokens.css";
import "./design/base.css";
import { CSPProvider } from "@base-ui/react/csp-provider";
import { QueryClientProvider } from "@tanstack/react-query";
import { createRouter, RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { followEarly } from "./api/events.ts";
import { readFirstView } from "./api/first-view.ts";
import { cache } from "./api/queries.ts";
import { followOtherTabs } from "./api/session.ts";
import { showHints } from "./design/hints.ts";
import { sayRefused } from "./design/toast.tsx";
import { routes } from "./routes.ts";
import { Failed } from "./shell/failed.tsx";
import { takeLinkToken } from "./shell/link-token.ts";
import { watchMissingFiles } from "./shell/missing-file.ts";
import { takeProviderAnswer } from "./shell/provider-answer.ts";
import { parseSearch, stringifySearch } from "./shell/view.ts";

takeLinkToken();
takeProviderAnswer();

const router = createRouter({
  routeTree: routes,
  parseSearch,
  stringifySearch,
  defaultPreload: "intent",
  scrollRestoration: true,
  defaultErrorComponent: Failed,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}

watchMissingFiles(window);
followOtherTabs();
showHints();
followEarly(cache);
// A failure that no page took is shown as it is, rather than lost.
addEventListener("unhandledrejection", ({ reason }) => sayRefused(reason));

/** The first view waits this long for its rows once its files are there, to be drawn once. Later ones come when they come. */
const FIRST_VIEW_MS = 200;
/** On a slow connection the frame of the page comes before its files. */
const FILES_MS = 1000;
const after = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

const here = router.matchRoutes(router.latestLocation).at(-1);
const { id } = (here?.params ?? {}) as { id?: string };
const files = router.load();
const isReady = Promise.all([files, readFirstView(cache, here?.fullPath ?? "", id)]);
const isLate = Promise.race([files.then(() => after(FIRST_VIEW_MS)), after(FILES_MS)]);
void Promise.race([isReady, isLate]).then(() =>
  createRoot(document.getElementById("root")!).render(
    <StrictMode>
      <CSPProvider disableStyleElements>
        <QueryClientProvider client={cache}>
          <RouterProvider router={router} />
        </QueryClientProvider>
      </CSPProvider>
    </StrictMode>,
  ),
);
