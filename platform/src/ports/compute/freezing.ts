/** The ability to pause the program of an instance, and to let it continue. */
export interface Freezing {
  /** Pauses the program without telling it. */
  freeze(id: string): Promise<void>;
  thaw(id: string): Promise<void>;
}
