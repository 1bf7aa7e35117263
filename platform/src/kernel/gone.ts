/** Whether somebody who waits has gone: as much of an AbortSignal as that takes, without what one costs for every request. */
export interface Gone {
  readonly aborted: boolean;
  addEventListener(type: "abort", heard: () => void): void;
  removeEventListener(type: "abort", heard: () => void): void;
}
