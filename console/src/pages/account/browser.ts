/** The name of a browser and its system, as people call them, from what it calls itself. */

const BROWSERS: [pattern: RegExp, name: string][] = [
  [/\bEdg\//, "Edge"],
  [/\bOPR\//, "Opera"],
  [/\bFirefox\//, "Firefox"],
  [/\bHeadlessChrome\//, "Chrome (headless)"],
  [/\bChrome\//, "Chrome"],
  [/\bSafari\//, "Safari"],
  [/^curl\//, "curl"],
];
const SYSTEMS: [pattern: RegExp, name: string][] = [
  [/\biPhone\b/, "iPhone"],
  [/\biPad\b/, "iPad"],
  [/\bAndroid\b/, "Android"],
  [/\bWindows\b/, "Windows"],
  [/\bMac OS X\b/, "macOS"],
  [/\bLinux\b/, "Linux"],
];

export function browserOf(userAgent: string | null): string {
  if (!userAgent) return "Unknown browser";
  // A session of the command line names its machine.
  if (userAgent.startsWith("millrace login")) return userAgent;
  const nameIn = (names: typeof BROWSERS) => names.find(([pattern]) => pattern.test(userAgent))?.[1];
  const browser = nameIn(BROWSERS) ?? userAgent.split(/[\s/]/)[0]!;
  const system = nameIn(SYSTEMS);
  return system ? `${browser} on ${system}` : browser;
}
