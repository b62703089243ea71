import { chmodSync, cpSync, mkdirSync, rmSync, statSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { filesBelow, root, run } from "../step.ts"

export type Debian = {
  readonly version: string
  /** What Debian calls the processor. */
  readonly architecture: string
  readonly binary: string
  /** Seconds since the epoch: how old everything in it is. */
  readonly seconds: number
}

const packaging = join(root, "packaging")

/** Where each file goes, who may do what with it, and where it comes from. */
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

/** Makes a Debian package of a binary, in `folder`; answers its file. */
export async function buildDebian(debian: Debian, folder: string): Promise<string> {
  const stage = join(folder, `debian-${debian.architecture}`)
  rmSync(stage, { recursive: true, force: true })
  for (const [place, mode, from] of filesOf(debian.binary)) put(stage, place, { mode, from })
  for (const name of scripts) {
    put(stage, `DEBIAN/${name}`, { mode: 0o755, from: join(packaging, "debian", name) })
  }
  const kilobytes = Math.ceil(filesBelow(stage).reduce((sum, file) => sum + sizeOf(file), 0) / 1024)
  writeFileSync(join(stage, "DEBIAN/control"), controlOf(debian, kilobytes))
  // What an administrator has changed is theirs: an upgrade asks before it takes another's place.
  writeFileSync(join(stage, "DEBIAN/conffiles"), "/etc/latchkey/latchkey.toml\n")
  const file = join(folder, `latchkey_${debian.version}_${debian.architecture}.deb`)
  const built = await run([
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
  if (!built.ok) throw new Error(`the Debian package could not be made:\n${built.output}`)
  return file
}

function put(
  stage: string,
  place: string,
  { mode, from }: { readonly mode: number; readonly from: string },
): void {
  const to = join(stage, place)
  mkdirSync(dirname(to), { recursive: true, mode: 0o755 })
  cpSync(from, to)
  chmodSync(to, mode)
}

const sizeOf = (file: string): number => statSync(file).size

const controlOf = ({ version, architecture }: Debian, kilobytes: number): string =>
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
