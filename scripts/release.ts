import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { build, compileFor, binary as ownBinary } from "./build.ts"
import { writeReference } from "./reference.ts"
import { formatChecksums, packFolder } from "./release/archive.ts"
import { buildDebian } from "./release/debian.ts"
import { fetchPackage } from "./release/package.ts"
import { formatTestResults, testBinary } from "./release/smoke-test.ts"
import { archiveName, binaryName, runtimePackage, type Target, targets } from "./release/target.ts"
import { recordStart } from "./start-order.ts"
import { root, run } from "./step.ts"

// Builds all downloads in dist/release:
//   bun scripts/release.ts [NAME…] all systems, or the named ones (linux-x64, macos-arm64, …)

const folder = join(root, "dist", "release")
const workFolder = join(root, "dist", "release.work")
const bytecodeOrderFile = join(workFolder, "order")

/** Added to each archive next to the binary. */
const extraFiles = ["README.md", "CHANGELOG.md", "LICENSE", "packaging", "docs"] as const

async function release(names: readonly string[]): Promise<void> {
  const selectedTargets = targets.filter(({ name }) => names.length === 0 || names.includes(name))
  const unknown = names.filter((name) => !targets.some((target) => target.name === name))
  if (unknown.length > 0) {
    const available = targets.map(({ name }) => name).join(", ")
    throw new Error(`unknown target ${unknown.join(", ")}: choose from ${available}`)
  }
  for (const each of [folder, workFolder]) {
    rmSync(each, { recursive: true, force: true })
    mkdirSync(each, { recursive: true })
  }
  const version: string = JSON.parse(readFileSync(join(root, "package.json"), "utf8")).version
  const seconds = await commitTime()
  // The load order of modules is recorded on this system and reused for the others.
  await build()
  await recordStart(ownBinary, bytecodeOrderFile)
  const files: string[] = []
  const tried: (readonly [Target, string])[] = []
  for (const target of selectedTargets) {
    const binary = await compileTarget(target)
    tried.push([target, await testBinary(target, binary)])
    files.push(await createArchive({ target, binary, version, seconds }))
    if (target.debian) {
      const debian = { version, architecture: target.debian, binary, seconds }
      files.push(await buildDebian(debian, folder))
    }
    console.log(`  ${archiveName(version, target)}`)
  }
  files.push(await billOfMaterials(version))
  const commandOutput = join(folder, "TRIED.txt")
  writeFileSync(commandOutput, formatTestResults(version, tried))
  writeFileSync(join(folder, "SHA256SUMS"), await formatChecksums([...files, commandOutput]))
  rmSync(workFolder, { recursive: true })
  console.log(`  dist/release has ${files.length + 2} files`)
}

/** The time of the released commit in seconds, used as the modification time of all files. */
async function commitTime(): Promise<number> {
  const { ok, output } = await run(["git", "log", "-1", "--format=%ct"])
  if (!ok) throw new Error(`git did not return the commit time:\n${output}`)
  return Number(output.trim())
}

async function compileTarget(target: Target): Promise<string> {
  const to = join(workFolder, target.name, binaryName(target))
  mkdirSync(join(workFolder, target.name), { recursive: true })
  const runtime = await fetchPackage(runtimePackage(target), workFolder)
  const addon = await fetchPackage(target.addon, workFolder)
  const suffix = binaryName(target).endsWith(".exe") ? ".exe" : ""
  await compileFor({
    outfile: to,
    target: target.runtime,
    executablePath: join(runtime, "bin", `bun${suffix}`),
    addon: { name: target.addon, folder: addon },
    bytecodeOrder: bytecodeOrderFile,
  })
  return to
}

type ArchiveInput = {
  readonly target: Target
  readonly binary: string
  readonly version: string
  readonly seconds: number
}

async function createArchive({ target, binary, version, seconds }: ArchiveInput): Promise<string> {
  const file = archiveName(version, target)
  const parentFolder = file.replace(/\.tar\.gz$/, "")
  const stage = join(workFolder, parentFolder)
  mkdirSync(stage, { recursive: true })
  cpSync(binary, join(stage, binaryName(target)))
  for (const name of extraFiles) cpSync(join(root, name), join(stage, name), { recursive: true })
  await writeReference(join(stage, "docs", "reference"))
  const to = join(folder, file)
  await packFolder({ folder: workFolder, below: parentFolder }, to, seconds)
  rmSync(stage, { recursive: true })
  return to
}

/** The CycloneDX bill of materials, created by npm from the lock file. */
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
  if (!ok) throw new Error(`npm could not create the bill of materials:\n${output}`)
  const to = join(folder, `latchkey-${version}.cdx.json`)
  writeFileSync(to, output)
  return to
}

if (import.meta.main) {
  await release(process.argv.slice(2))
}
