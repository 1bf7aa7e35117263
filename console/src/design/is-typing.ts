/** Whether a key goes into a text, so that it is no command. */

/** An editor may sit in a shadow root, whose events seem to come from the element around it. */
export const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable ||
    /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) ||
    isTyping(target.shadowRoot?.activeElement ?? null));
