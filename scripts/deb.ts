/** Builds a Debian package: the packed program with its Node, a service for systemd, a file of settings, and an own user. */
import { execFileSync } from "node:child_process";
import { chmod, cp, mkdir, mkdtemp, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { imageContext } from "./image.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const parts = join(root, "deploy/debian");

const ARCHITECTURES: Record<string, string> = { x64: "amd64", arm64: "arm64" };
/** Node needs the first two. The others keep programs apart from the machine, and volumes to their sizes. */
const DEPENDS =
  "libc6 (>= 2.28), libstdc++6, adduser | passwd, bubblewrap, nftables, iproute2, util-linux, e2fsprogs, xfsprogs, ca-certificates";

/** Where the package puts each file of deploy/debian that is not a script of it. */
export const PLACES: Record<string, string> = {
  "millrace.service": "lib/systemd/system/millrace.service",
  "unprivileged.conf": "usr/share/millrace/unprivileged.conf",
  "millrace.env": "etc/millrace/millrace.env",
};
export const SCRIPTS = ["postinst", "prerm", "postrm"];

export const controlFor = (version: string, architecture: string, kilobytes: number) =>
  `${[
    "Package: millrace",
    `Version: ${version}`,
    `Architecture: ${architecture}`,
    "Maintainer: Millrace <millrace@localhost>",
    `Installed-Size: ${kilobytes}`,
    `Depends: ${DEPENDS}`,
    "Recommends: systemd",
    "Suggests: docker.io, postgresql",
    "Section: admin",
    "Priority: optional",
    "Description: open, self-hosted cloud compute platform",
    " Pods, serverless endpoints, volumes and billing on machines of your own. It",
    " installs one server as a service of systemd, with the Node that it needs.",
  ].join("\n")}\n`;

/** Fills a folder with what the package has, except the program itself. */
export async function debianParts(folder: string): Promise<void> {
  await mkdir(join(folder, "DEBIAN"), { recursive: true });
  for (const [name, place] of Object.entries(PLACES)) await cp(join(parts, name), join(folder, place));
  for (const name of SCRIPTS) {
    await cp(join(parts, name), join(folder, "DEBIAN", name));
    await chmod(join(folder, "DEBIAN", name), 0o755);
  }
  // A file that somebody changed is kept by an upgrade.
  await writeFile(join(folder, "DEBIAN/conffiles"), "/etc/millrace/millrace.env\n");
  await mkdir(join(folder, "usr/bin"), { recursive: true });
  await symlink("/opt/millrace/node_modules/millrace/millrace", join(folder, "usr/bin/millrace"));
}

/** Writes the package into `folder` and returns its path. */
async function deb(folder: string): Promise<string> {
  const stage = await mkdtemp(join(tmpdir(), "millrace-deb-"));
  try {
    await chmod(stage, 0o755);
    const tree = join(stage, "tree");
    await mkdir(join(stage, "context"));
    await imageContext(join(stage, "context"));
    await debianParts(tree);
    await mkdir(join(tree, "opt"));
    await rename(join(stage, "context/package"), join(tree, "opt/millrace"));
    const { version } = JSON.parse(await readFile(join(root, "platform/package.json"), "utf8"));
    const architecture = ARCHITECTURES[process.arch]!;
    const kilobytes = Number.parseInt(execFileSync("du", ["-sk", tree], { encoding: "utf8" }), 10);
    await writeFile(join(tree, "DEBIAN/control"), controlFor(version, architecture, kilobytes));
    const file = join(resolve(folder), `millrace_${version}_${architecture}.deb`);
    execFileSync("dpkg-deb", ["--root-owner-group", "-Zgzip", "--build", tree, file], { stdio: "ignore" });
    return file;
  } finally {
    await rm(stage, { recursive: true });
  }
}

if (import.meta.main) console.log(await deb(process.argv[2] ?? "."));
