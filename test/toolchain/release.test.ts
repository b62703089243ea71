// The parts of a release, without building it for all platforms.
import { spawnSync } from "node:child_process"
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, describe, expect, test } from "vitest"
import { addonPlugin } from "../../scripts/build.ts"
import { formatChecksums, packFolder } from "../../scripts/release/archive.ts"
import { buildDebian } from "../../scripts/release/debian.ts"
import { lockedPackage } from "../../scripts/release/package.ts"
import { formatTestResults, testBinary, testSignIn } from "../../scripts/release/smoke-test.ts"
import { archiveName, binaryName, runtimePackage, targets } from "../../scripts/release/target.ts"
import { root } from "../../scripts/step.ts"
import { temporaryFolder } from "../support/latchkey.ts"
import { needs } from "../support/prerequisite.ts"

const folder = temporaryFolder()
afterAll(() => folder.remove())
const pathOf = (name: string) => join(folder.path, name)

const runCommand = (command: string, ...words: readonly string[]) => {
  const { status, stdout, stderr } = spawnSync(command, words, { cwd: folder.path })
  return { ok: status === 0, text: `${stdout}${stderr}` }
}

describe("the platforms of a release", () => {
  test.each(targets)(
    "$name has a runtime and a password library with verified checksums",
    (target) => {
      for (const name of [runtimePackage(target), target.addon]) {
        expect(lockedPackage(name)).toMatchObject({
          version: expect.stringMatching(/^\d/),
          integrity: expect.stringMatching(/^sha512-/),
        })
      }
    },
  )

  test("have distinct names, with .exe for Windows", () => {
    const names = targets.map((target) => archiveName("1.2.3", target))
    expect(new Set(names).size).toBe(names.length)
    expect(names[0]).toBe("latchkey-1.2.3-linux-x64.tar.gz")
    expect(targets.map(binaryName).filter((name) => name.endsWith(".exe"))).toHaveLength(2)
  })

  test("are reported as untested if this machine can't run them", async () => {
    const [mac] = targets.filter(({ name }) => name === "macos-arm64")
    if (!mac) throw new Error("no macOS")
    const said = await testBinary(mac, "/nowhere")
    expect(formatTestResults("1.2.3", [[mac, said]])).toMatch(
      /^macos-arm64 +not tested: built on another system$/m,
    )
  })
})

describe("a binary in which nobody can sign in", () => {
  const binary = (name: string, script: string): string => {
    writeFileSync(pathOf(name), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
    return pathOf(name)
  }
  const soon = { upMs: 300, endMs: 300 }

  test.each([
    ["that ends", "echo no such library >&2; exit 3", /the process exited[\s\S]*no such library/],
    [
      "that never answers",
      "echo still busy; exec sleep 60",
      /no response within 0\.3 seconds[\s\S]*still busy/,
    ],
    [
      "that does not end",
      "trap '' TERM; echo going on; while :; do sleep 0.1; done",
      /0.3[\s\S]*going on/,
    ],
  ])("%s is rejected early, with its output", async (name, script, values) => {
    await expect(testSignIn(binary(name.replaceAll(" ", "-"), script), soon)).rejects.toThrow(
      values,
    )
  })
})

test("the password library of a platform is in its binary, and loads there", async () => {
  // One is installed for this platform, for either C library if its name states one.
  const ours = `argon2-${process.platform}-${process.arch}`
  const installed = readdirSync(join(root, "node_modules/@node-rs"))
  const [own] = installed.filter((each) => each === ours || each.startsWith(`${ours}-`))
  if (own === undefined) throw new Error(`node_modules has no @node-rs/${ours}…; run npm install`)
  const name = `@node-rs/${own}`
  const addon = { name, folder: join(root, "node_modules", name) }
  writeFileSync(
    pathOf("uses.ts"),
    `import { hash } from "@node-rs/argon2"; console.log(await hash("a"))`,
  )
  const built = await Bun.build({
    entrypoints: [pathOf("uses.ts")],
    outdir: pathOf("used"),
    target: "bun",
    plugins: [
      addonPlugin(addon),
      {
        name: "ours",
        setup: (build) => void build.onResolve(library, () => ({ path: libraryFile })),
      },
    ],
  })
  expect(built.success, built.logs.join("\n")).toBe(true)
  expect(runCommand(process.execPath, "--no-install", pathOf("used/uses.js"))).toMatchObject({
    ok: true,
    text: expect.stringMatching(/^\$argon2id\$/),
  })
})
const library = { filter: /^@node-rs\/argon2$/ }
const libraryFile = require.resolve("@node-rs/argon2")

test("an archive is reproducible, and its checksum can be verified as usual", async () => {
  mkdirSync(pathOf("latchkey-1"), { recursive: true })
  writeFileSync(pathOf("latchkey-1/b"), "b")
  writeFileSync(pathOf("latchkey-1/a"), "a")
  const wanted = { folder: folder.path, below: "latchkey-1" }
  await packFolder(wanted, pathOf("one.tar.gz"), 1_700_000_000)
  chmodSync(pathOf("latchkey-1/a"), 0o644)
  writeFileSync(pathOf("latchkey-1/a"), "a")
  await packFolder(wanted, pathOf("two.tar.gz"), 1_700_000_000)
  expect(readFileSync(pathOf("one.tar.gz")).equals(readFileSync(pathOf("two.tar.gz")))).toBe(true)
  writeFileSync(
    pathOf("SHA256SUMS"),
    await formatChecksums([pathOf("two.tar.gz"), pathOf("one.tar.gz")]),
  )
  expect(runCommand("sha256sum", "--check", "SHA256SUMS").text).toBe(
    "one.tar.gz: OK\ntwo.tar.gz: OK\n",
  )
})

describe.runIf(needs("dpkg"))("the Debian package", () => {
  const place = pathOf("root")
  const dpkg = (...words: readonly string[]) =>
    runCommand(
      "dpkg",
      `--root=${place}`,
      "--force-not-root",
      "--force-script-chrootless",
      "--force-depends",
      "--force-confold",
      ...words,
    )
  const packageOf = async (version: string) => {
    writeFileSync(pathOf("binary"), `#!/bin/sh\necho "latchkey ${version}"\n`)
    const made = { version, architecture: "all", binary: pathOf("binary"), seconds: 1_700_000_000 }
    return buildDebian(made, folder.path)
  }

  test("can be installed, upgraded, removed and purged; settings and data are kept", async () => {
    for (const name of ["info", "updates", "triggers"]) {
      mkdirSync(join(place, "var/lib/dpkg", name), { recursive: true })
    }
    writeFileSync(join(place, "var/lib/dpkg/status"), "")
    const settings = join(place, "etc/latchkey/latchkey.toml")
    const installed = dpkg("--install", await packageOf("1.0.0"))
    expect(installed).toMatchObject({ ok: true })
    expect(readFileSync(join(place, "usr/bin/latchkey"), "utf8")).toContain("1.0.0")
    expect(existsSync(join(place, "usr/lib/sysusers.d/latchkey.conf"))).toBe(true)
    writeFileSync(settings, 'log_level = "debug"\n')
    mkdirSync(join(place, "var/lib/latchkey"), { recursive: true })
    expect(dpkg("--install", await packageOf("1.1.0"))).toMatchObject({ ok: true })
    expect(readFileSync(join(place, "usr/bin/latchkey"), "utf8")).toContain("1.1.0")
    expect(readFileSync(settings, "utf8")).toBe('log_level = "debug"\n')
    expect(dpkg("--remove", "latchkey")).toMatchObject({ ok: true })
    expect(existsSync(join(place, "usr/bin/latchkey"))).toBe(false)
    expect(existsSync(settings)).toBe(true)
    const purged = dpkg("--purge", "latchkey")
    expect(purged.text).toContain("The data of Latchkey is still in")
    expect(existsSync(settings)).toBe(false)
    expect(existsSync(join(place, "var/lib/latchkey"))).toBe(true)
  })

  test("belongs to root, and lists its configuration files", async () => {
    const file = await packageOf("2.0.0")
    const listed = runCommand("dpkg-deb", "--contents", file).text
    expect(listed).not.toMatch(/^\S+ (?!root\/root)/m)
    expect(listed).toMatch(/^-rwxr-xr-x root\/root .*\.\/usr\/bin\/latchkey$/m)
    expect(runCommand("dpkg-deb", "--info", file, "conffiles").text).toBe(
      "/etc/latchkey/latchkey.toml\n",
    )
    const first = readFileSync(file)
    expect(readFileSync(await packageOf("2.0.0")).equals(first)).toBe(true)
  })
})

describe.runIf(needs("systemd"))("the systemd unit", () => {
  test("has a low exposure level", () => {
    const file = join(root, "packaging/latchkey.service")
    const { text } = runCommand("systemd-analyze", "security", "--offline=true", "--no-pager", file)
    const [, exposure] = /Overall exposure level for \S+: (\d+\.\d)/.exec(text) ?? []
    expect(Number(exposure ?? 10)).toBeLessThan(2)
  })
})

describe("the container", () => {
  test("runs as nobody, with a read-only root and a health check by its own binary", () => {
    const file = readFileSync(join(root, "packaging/Containerfile"), "utf8")
    expect(file).toMatch(/^USER 65532:65532$/m)
    expect(file).toMatch(/^HEALTHCHECK .* CMD \["\/usr\/bin\/latchkey", "health"\]$/m)
    const compose = Bun.YAML.parse(readFileSync(join(root, "packaging/compose.yaml"), "utf8"))
    expect(compose).toMatchObject({
      services: { latchkey: { read_only: true, cap_drop: ["ALL"] }, caddy: {} },
    })
  })
})
