/** Tells whether a waiting client has gone: the part of an AbortSignal that this takes, without its cost for every request. */
export interface Gone {
  readonly aborted: boolean;
  addEventListener(type: "abort", heard: () => void): void;
  removeEventListener(type: "abort", heard: () => void): void;
}
