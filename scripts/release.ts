import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { build, compileFor, binary as ownBinary } from "./build.ts"
import { writeReference } from "./reference.ts"
import { packFolder, sumsOf } from "./release/archive.ts"
import { buildDebian } from "./release/debian.ts"
import { fetchPackage } from "./release/package.ts"
import { archiveName, binaryName, runtimePackage, type Target, targets } from "./release/target.ts"
import { triedText, tryBinary } from "./release/tried.ts"
import { recordStart } from "./start-order.ts"
import { root, run } from "./step.ts"

// Makes everything that one downloads, in dist/release:
//   bun scripts/release.ts [NAME…]     all systems, or those named (linux-x64, macos-arm64, …)

const folder = join(root, "dist", "release")
const work = join(root, "dist", "release.work")
const order = join(work, "order")

/** Beside the binary in each archive. */
const beside = ["README.md", "CHANGELOG.md", "LICENSE", "packaging", "docs"] as const

async function release(names: readonly string[]): Promise<void> {
  const chosen = targets.filter(({ name }) => names.length === 0 || names.includes(name))
  const unknown = names.filter((name) => !targets.some((target) => target.name === name))
  if (unknown.length > 0) {
    throw new Error(
      `${unknown.join(", ")}: choose of ${targets.map(({ name }) => name).join(", ")}`,
    )
  }
  for (const each of [folder, work]) {
    rmSync(each, { recursive: true, force: true })
    mkdirSync(each, { recursive: true })
  }
  const version: string = JSON.parse(readFileSync(join(root, "package.json"), "utf8")).version
  const seconds = await committed()
  // What starts in which order is measured here; the others are laid out the same way.
  await build()
  await recordStart(ownBinary, order)
  const files: string[] = []
  const tried: (readonly [Target, string])[] = []
  for (const target of chosen) {
    const binary = await compiled(target)
    tried.push([target, await tryBinary(target, binary)])
    files.push(await archived({ target, binary, version, seconds }))
    if (target.debian) {
      const debian = { version, architecture: target.debian, binary, seconds }
      files.push(await buildDebian(debian, folder))
    }
    console.log(`  ${archiveName(version, target)}`)
  }
  files.push(await billOfMaterials(version))
  const said = join(folder, "TRIED.txt")
  writeFileSync(said, triedText(version, tried))
  writeFileSync(join(folder, "SHA256SUMS"), await sumsOf([...files, said]))
  rmSync(work, { recursive: true })
  console.log(`  dist/release has ${files.length + 2} files`)
}

/** When what is released was committed: the age of all files in it. */
async function committed(): Promise<number> {
  const { ok, output } = await run(["git", "log", "-1", "--format=%ct"])
  if (!ok) throw new Error(`git does not say when this was committed:\n${output}`)
  return Number(output.trim())
}

async function compiled(target: Target): Promise<string> {
  const to = join(work, target.name, binaryName(target))
  mkdirSync(join(work, target.name), { recursive: true })
  const runtime = await fetchPackage(runtimePackage(target), work)
  const addon = await fetchPackage(target.addon, work)
  const suffix = binaryName(target).endsWith(".exe") ? ".exe" : ""
  await compileFor({
    outfile: to,
    target: target.runtime,
    executablePath: join(runtime, "bin", `bun${suffix}`),
    addon: { name: target.addon, folder: addon },
    bytecodeOrder: order,
  })
  return to
}

type Archived = {
  readonly target: Target
  readonly binary: string
  readonly version: string
  readonly seconds: number
}

async function archived({ target, binary, version, seconds }: Archived): Promise<string> {
  const file = archiveName(version, target)
  const below = file.replace(/\.tar\.gz$/, "")
  const stage = join(work, below)
  mkdirSync(stage, { recursive: true })
  cpSync(binary, join(stage, binaryName(target)))
  for (const name of beside) cpSync(join(root, name), join(stage, name), { recursive: true })
  await writeReference(join(stage, "docs", "reference"))
  const to = join(folder, file)
  await packFolder({ folder: work, below }, to, seconds)
  rmSync(stage, { recursive: true })
  return to
}

/** CycloneDX, of what is in the binaries, by npm from its own lock file. */
async function billOfMaterials(version: string): Promise<string> {
  const { ok, output } = await run([
    "npm",
    "sbom",
    "--sbom-format",
    "cyclonedx",
    "--omit",
    "dev",
    "--package-lock-only",
    "--loglevel",
    "silent",
  ])
  if (!ok) throw new Error(`npm made no list of what is in it:\n${output}`)
  const to = join(folder, `latchkey-${version}.cdx.json`)
  writeFileSync(to, output)
  return to
}

if (import.meta.main) {
  await release(process.argv.slice(2))
}
