/** A system that a release is made for, and what it is called by others. */
export type Target = {
  /** In names of files. */
  readonly name: string
  /** What Bun calls it; the npm package with its runtime is called the same. */
  readonly runtime: Bun.Build.CompileTarget
  /** The npm package with the password library for it. */
  readonly addon: string
  /** What Debian calls it, where there is a package for it. */
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

/** The file that one starts. */
export const binaryName = ({ name }: Target): string =>
  name.startsWith("windows") ? "latchkey.exe" : "latchkey"

/** What one downloads: the same name for the same version, always. */
export const archiveName = (version: string, { name }: Target): string =>
  `latchkey-${version}-${name}.tar.gz`

/** The npm package with the runtime. */
export const runtimePackage = ({ runtime }: Target): string => `@oven/${runtime}`
