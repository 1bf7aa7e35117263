/** `millrace open`: a one-time link by which the owner of an account signs in to the console, opened in a browser. */
import { spawn } from "node:child_process";
import { runningUrl } from "@millrace/platform/composition/installation.ts";
import { makeSignInLink } from "@millrace/platform/composition/sign-in-link.ts";
import { timestamp } from "@millrace/platform/kernel/clock.ts";
import { Command } from "commander";
import { inInstallation, type PlaceOptions, placeSettings, print, withPlace } from "./installation.ts";
import type { TargetOptions } from "./profiles.ts";
import type { Environment } from "./shell.ts";

interface Options extends PlaceOptions, Pick<TargetOptions, "profile"> {
  account?: string;
  url?: string;
  browser?: boolean;
  json?: boolean;
}

/** Where these are set, there is a desktop that can open a browser. */
export interface DesktopEnvironment {
  DISPLAY?: string | undefined;
  WAYLAND_DISPLAY?: string | undefined;
}

export function openCommand(env: DesktopEnvironment & Environment = {}): Command {
  return withPlace(new Command("open").description("sign in to the console; works while the server runs"))
    .option("--account <id or name>", "account whose owner signs in; default: the first one")
    .option("--url <url>", "where browsers reach the server; default: MILLRACE_PUBLIC_URL, or where one runs")
    .option("--profile <name>", "open the console of this profile's server instead, where people sign in themselves")
    .option("--no-browser", "print the link, and open no browser")
    .option("--json", "print JSON, and open no browser")
    .addHelpText("after", "\nExample:\n  millrace open --no-browser")
    .action((options: Options) => {
      if (options.profile !== undefined) return openProfile(options, env);
      return inInstallation(options, async (opened) => {
        const { account } = await opened.accounts.ownerOf(options.account);
        const settings = placeSettings(options);
        const base = options.url ?? settings.publicUrl ?? (await runningUrl(settings, opened.store));
        if (base === undefined)
          throw new Error("no server runs on this data: start one with 'millrace serve', or name its address by --url");
        const asked = { account, base: base.replace(/\/+$/, ""), actor: { type: "cli" } as const };
        const { url, expiresAt } = await makeSignInLink(opened, asked);
        const until = timestamp(expiresAt);
        print({ url, expiresAt: until }, options.json, () => [`sign in until ${until}, once, at ${url}`]);
        if (options.browser !== false && !options.json && hasDesktop(env)) openBrowser(url);
      });
    });
}

/** A key is not a sign-in: only the data folder can make a link for somebody. */
async function openProfile({ profile, browser, json }: Options, env: DesktopEnvironment & Environment): Promise<void> {
  const { findTarget } = await import("./profiles.ts");
  const { url } = await findTarget({ profile: profile! }, env);
  print({ url }, json, () => [`the console is at ${url}`]);
  if (browser !== false && !json && hasDesktop(env)) openBrowser(url);
}

const hasDesktop = ({ DISPLAY, WAYLAND_DISPLAY }: DesktopEnvironment) =>
  process.platform === "darwin" || Boolean(DISPLAY || WAYLAND_DISPLAY);

/** The link was printed already, so a browser that does not open is no failure. */
function openBrowser(url: string): void {
  const program = process.platform === "darwin" ? "open" : "xdg-open";
  const browser = spawn(program, [url], { detached: true, stdio: "ignore" });
  browser.on("error", () => {});
  browser.unref();
}
