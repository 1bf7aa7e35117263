/** The ability to stop the program of an instance where it is, and to let it go on. */
export interface Freezing {
  /** Stops the program without telling it. */
  freeze(id: string): Promise<void>;
  thaw(id: string): Promise<void>;
}
