// Runs before anything else of a page: sets the theme, so that it does not flash in the other one, and asks what every page of a signed-in
// person needs, while the browser still loads the console. See console/src/api/early.ts.
try {
  const theme = localStorage.getItem("millrace.theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  const token = localStorage.getItem("millrace.page");
  if (token !== null && !/^\/(sign-in|invitation)$/.test(location.pathname)) {
    const ask = (address, accept) => {
      const stop = new AbortController();
      const headers = { "X-Millrace-Page": token, ...(accept && { Accept: accept }) };
      const answer = fetch(address, { headers, signal: stop.signal });
      answer.catch(() => undefined);
      return [address, { answer, stop }];
    };
    // The stream comes first: whatever is read after its beginning need not be read again.
    globalThis.millraceEarly = new Map([
      ...(document.hidden ? [] : [ask("/v2/account/events", "text/event-stream")]),
      ask("/v2/account/me"),
    ]);
  }
} catch {}
