import { chmodSync, cpSync, mkdirSync, rmSync, statSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { filesBelow, root, run } from "../step.ts"

export type DebianPackageInput = {
  readonly version: string
  /** Debian's name for the architecture. */
  readonly architecture: string
  readonly binary: string
  /** Modification time of all files, in seconds since the epoch. */
  readonly seconds: number
}

const packaging = join(root, "packaging")

/** Target path, mode and source of each file. */
const filesOf = (binary: string) =>
  [
    ["usr/bin/latchkey", 0o755, binary],
    ["usr/lib/systemd/system/latchkey.service", 0o644, join(packaging, "latchkey.service")],
    ["usr/lib/sysusers.d/latchkey.conf", 0o644, join(packaging, "debian/latchkey.sysusers")],
    ["etc/latchkey/latchkey.toml", 0o644, join(packaging, "debian/latchkey.toml")],
    ["usr/share/doc/latchkey/copyright", 0o644, join(root, "LICENSE")],
    ["usr/share/doc/latchkey/README.md", 0o644, join(root, "README.md")],
    ["usr/share/doc/latchkey/CHANGELOG.md", 0o644, join(root, "CHANGELOG.md")],
  ] as const

const scripts = ["postinst", "prerm", "postrm"] as const

/** Builds a Debian package of a binary in `folder`; returns its path. */
export async function buildDebian(debian: DebianPackageInput, folder: string): Promise<string> {
  const stage = join(folder, `debian-${debian.architecture}`)
  rmSync(stage, { recursive: true, force: true })
  for (const [installPath, mode, from] of filesOf(debian.binary))
    installFile(stage, installPath, { mode, from })
  for (const name of scripts) {
    installFile(stage, `DEBIAN/${name}`, { mode: 0o755, from: join(packaging, "debian", name) })
  }
  const kilobytes = Math.ceil(filesBelow(stage).reduce((sum, file) => sum + sizeOf(file), 0) / 1024)
  writeFileSync(join(stage, "DEBIAN/control"), formatControlFile(debian, kilobytes))
  // Files that the administrator has changed: an upgrade asks before it replaces them.
  writeFileSync(join(stage, "DEBIAN/conffiles"), "/etc/latchkey/latchkey.toml\n")
  const file = join(folder, `latchkey_${debian.version}_${debian.architecture}.deb`)
  const buildResult = await run([
    "env",
    `SOURCE_DATE_EPOCH=${debian.seconds}`,
    "dpkg-deb",
    "--root-owner-group",
    "-Zxz",
    "-z2",
    "--build",
    stage,
    file,
  ])
  rmSync(stage, { recursive: true, force: true })
  if (!buildResult.ok)
    throw new Error(`the Debian package could not be built:\n${buildResult.output}`)
  return file
}

function installFile(
  stage: string,
  installPath: string,
  { mode, from }: { readonly mode: number; readonly from: string },
): void {
  const to = join(stage, installPath)
  mkdirSync(dirname(to), { recursive: true, mode: 0o755 })
  cpSync(from, to)
  chmodSync(to, mode)
}

const sizeOf = (file: string): number => statSync(file).size

const formatControlFile = (
  { version, architecture }: DebianPackageInput,
  kilobytes: number,
): string =>
  `Package: latchkey
Version: ${version}
Architecture: ${architecture}
Maintainer: Latchkey <latchkey@localhost>
Installed-Size: ${kilobytes}
Depends: libc6 (>= 2.31), libgcc-s1, systemd | systemd-standalone-sysusers | opensysusers
Section: net
Priority: optional
Description: identity service in one file
 OAuth 2.0 and OpenID Connect server, SAML identity provider, management
 interface, login pages and console, with its data in one folder.
`
