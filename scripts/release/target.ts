/** A system that releases are built for, with its names in other tools. */
export type Target = {
  /** Used in file names. */
  readonly name: string
  /** Bun's name for it, which is also the name of the npm package with its runtime. */
  readonly runtime: Bun.Build.CompileTarget
  /** The npm package with the password library for it. */
  readonly addon: string
  /** Debian's name for it, if there is a Debian package. */
  readonly debian?: string
}

const argon2 = (platform: string) => `@node-rs/argon2-${platform}`

export const targets: readonly Target[] = [
  {
    name: "linux-x64",
    runtime: "bun-linux-x64",
    addon: argon2("linux-x64-gnu"),
    debian: "amd64",
  },
  {
    name: "linux-arm64",
    runtime: "bun-linux-aarch64",
    addon: argon2("linux-arm64-gnu"),
    debian: "arm64",
  },
  { name: "linux-x64-musl", runtime: "bun-linux-x64-musl", addon: argon2("linux-x64-musl") },
  {
    name: "linux-arm64-musl",
    runtime: "bun-linux-aarch64-musl",
    addon: argon2("linux-arm64-musl"),
  },
  { name: "macos-x64", runtime: "bun-darwin-x64", addon: argon2("darwin-x64") },
  { name: "macos-arm64", runtime: "bun-darwin-aarch64", addon: argon2("darwin-arm64") },
  { name: "windows-x64", runtime: "bun-windows-x64", addon: argon2("win32-x64-msvc") },
  { name: "windows-arm64", runtime: "bun-windows-aarch64", addon: argon2("win32-arm64-msvc") },
]

/** The file name of the executable. */
export const binaryName = ({ name }: Target): string =>
  name.startsWith("windows") ? "latchkey.exe" : "latchkey"

/** The file name of a download, which depends only on version and target. */
export const archiveName = (version: string, { name }: Target): string =>
  `latchkey-${version}-${name}.tar.gz`

/** The npm package with the runtime. */
export const runtimePackage = ({ runtime }: Target): string => `@oven/${runtime}`
