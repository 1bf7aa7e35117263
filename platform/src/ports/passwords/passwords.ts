/** The passwords port: hashes passwords and checks them. */

export interface Passwords {
  /** Returns a hash that differs each time and contains the way in which it was made. */
  hash(password: string): Promise<string>;
  /** Takes the same time for right and wrong passwords, and also without a hash, where the answer is always false. */
  fits(password: string, hash: string | undefined): Promise<boolean>;
}
