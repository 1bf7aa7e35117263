/** A page at which the browser's tools do not look, as at that of a visitor. */
import type { Browser, BrowserContext, CDPSession } from "playwright-core";

type Command = (method: string, params?: object) => Promise<Record<string, unknown>>;

export interface BarePage extends AsyncDisposable {
  send: Command;
  /** What a script of the page has for a value. Asks nothing of it before. */
  valueOf<T>(script: string): Promise<T>;
}

/**
 * Opens a page in a browser with nothing in its cache, signed in as the people of `context` are. In a usual page of a test the tools watch
 * every script: the first `Error` that is made, as React does while it loads, has V8 parse the whole program again. That and the tools' own
 * scripts are a third of the work of a first load.
 */
export async function barePage(browser: Browser, context: BrowserContext, origin: string): Promise<BarePage> {
  const root = await browser.newBrowserCDPSession();
  const { browserContextId } = await root.send("Target.createBrowserContext");
  const { cookies, origins } = await context.storageState();
  await root.send("Storage.setCookies", {
    browserContextId,
    cookies: cookies.map(({ expires: _, ...cookie }) => cookie),
  });
  const open = async () => {
    const { targetId } = await root.send("Target.createTarget", { url: "about:blank", browserContextId });
    return { targetId, send: await commandsOf(root, targetId) };
  };
  const evaluated = async <T>(send: Command, expression: string) => {
    const { result } = await send("Runtime.evaluate", { expression, returnByValue: true, awaitPromise: true });
    return (result as { value: T }).value;
  };
  // What the browser keeps for the origin can be set by a page of it alone.
  const first = await open();
  await first.send("Page.navigate", { url: `${origin}/start.js` });
  const kept = origins.find((one) => one.origin === origin)?.localStorage ?? [];
  const set = kept.map(({ name, value }) => `localStorage.setItem(${JSON.stringify(name)}, ${JSON.stringify(value)})`);
  await evaluated(first.send, `${set.join(";")}; 1`);
  await root.send("Target.closeTarget", { targetId: first.targetId });
  const { send } = await open();
  return {
    send,
    valueOf: (script) => evaluated(send, script),
    async [Symbol.asyncDispose]() {
      await root.send("Target.disposeBrowserContext", { browserContextId });
      await root.detach();
    },
  };
}

/** Commands to a page, without any of the domains that watch it. */
async function commandsOf(root: CDPSession, targetId: string): Promise<Command> {
  const { sessionId } = await root.send("Target.attachToTarget", { targetId, flatten: false });
  const waiting = new Map<number, PromiseWithResolvers<Record<string, unknown>>>();
  root.on("Target.receivedMessageFromTarget", (event) => {
    if (event.sessionId !== sessionId) return;
    const { id, result, error } = JSON.parse(event.message);
    if (error) waiting.get(id)?.reject(new Error(error.message));
    else waiting.get(id)?.resolve(result);
    waiting.delete(id);
  });
  let last = 0;
  return async (method, params = {}) => {
    const id = ++last;
    const answer = Promise.withResolvers<Record<string, unknown>>();
    waiting.set(id, answer);
    await root.send("Target.sendMessageToTarget", { sessionId, message: JSON.stringify({ id, method, params }) });
    return answer.promise;
  };
}
