/** What a line of an authorized_keys file says: its type, its comment, and the fingerprint that ssh-keygen shows. */

export interface SshLine {
  type: string;
  comment: string | undefined;
  fingerprint: string | undefined;
}

export async function readSshLine(line: string): Promise<SshLine> {
  const [type = "", body = "", ...rest] = line.trim().split(/\s+/);
  return { type, comment: rest.join(" ") || undefined, fingerprint: await fingerprintOf(body) };
}

/** `SHA256:…` as `ssh-keygen -l` writes it. Undefined where the text is not base64. */
async function fingerprintOf(body: string): Promise<string | undefined> {
  try {
    const bytes = Uint8Array.from(atob(body), (letter) => letter.charCodeAt(0));
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
    return `SHA256:${btoa(String.fromCharCode(...digest)).replace(/=+$/, "")}`;
  } catch {
    return undefined;
  }
}
