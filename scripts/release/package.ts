import { createHash } from "node:crypto"
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs"
import { join } from "node:path"
import { root, run } from "../step.ts"

/** The exact version of a package, and the hash of its archive. */
export type LockedPackage = { readonly version: string; readonly integrity: string }

/** Reads the package from package-lock.json, whose hashes are reviewed when it changes. */
export function lockedPackage(name: string): LockedPackage {
  const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8"))
  const { version, integrity } = lock.packages[`node_modules/${name}`] ?? {}
  if (typeof version === "string" && typeof integrity === "string") return { version, integrity }
  throw new Error(`${name} is missing in package-lock.json`)
}

/**
 * Downloads a package from the npm registry and unpacks it below `folder`; returns its path.
 * Rejects a package whose hash differs from package-lock.json.
 */
export async function fetchPackage(name: string, folder: string): Promise<string> {
  const { version, integrity } = lockedPackage(name)
  const destination = join(folder, "packages", name.replace("/", "_"))
  if (existsSync(destination)) return destination
  const temporary = `${destination}.part`
  rmSync(temporary, { recursive: true, force: true })
  mkdirSync(temporary, { recursive: true })
  const downloadResult = await run(["npm", "pack", `${name}@${version}`, "--silent"], {
    cwd: temporary,
  })
  const file = join(temporary, downloadResult.output.trim().split("\n").at(-1) ?? "")
  if (!downloadResult.ok)
    throw new Error(`${name}@${version} can't be downloaded:\n${downloadResult.output}`)
  const sum = createHash("sha512").update(readFileSync(file)).digest("base64")
  if (`sha512-${sum}` !== integrity)
    throw new Error(`${name}@${version} does not match package-lock.json`)
  const unpackResult = await run(["tar", "--extract", "--gzip", "--file", file], { cwd: temporary })
  if (!unpackResult.ok)
    throw new Error(`${name}@${version} can't be unpacked:\n${unpackResult.output}`)
  renameSync(join(temporary, "package"), destination)
  rmSync(temporary, { recursive: true })
  return destination
}
