import { createHash } from "node:crypto"
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs"
import { join } from "node:path"
import { root, run } from "../step.ts"

/** What a package is, bit by bit: its version, and the sum of its archive. */
export type Locked = { readonly version: string; readonly integrity: string }

/** As package-lock.json has it, whose sums are looked at when it changes. */
export function lockedPackage(name: string): Locked {
  const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8"))
  const { version, integrity } = lock.packages[`node_modules/${name}`] ?? {}
  if (typeof version === "string" && typeof integrity === "string") return { version, integrity }
  throw new Error(`${name} does not stand in package-lock.json`)
}

/**
 * Fetches a package of npm's registry and unpacks it below `folder`; answers where it lies. Refuses
 * what is not, bit by bit, what package-lock.json says.
 */
export async function fetchPackage(name: string, folder: string): Promise<string> {
  const { version, integrity } = lockedPackage(name)
  const place = join(folder, "packages", name.replace("/", "_"))
  if (existsSync(place)) return place
  const fresh = `${place}.part`
  rmSync(fresh, { recursive: true, force: true })
  mkdirSync(fresh, { recursive: true })
  const packed = await run(["npm", "pack", `${name}@${version}`, "--silent"], { cwd: fresh })
  const file = join(fresh, packed.output.trim().split("\n").at(-1) ?? "")
  if (!packed.ok) throw new Error(`${name}@${version} can't be had:\n${packed.output}`)
  const sum = createHash("sha512").update(readFileSync(file)).digest("base64")
  if (`sha512-${sum}` !== integrity) throw new Error(`${name}@${version} is not what was locked`)
  const unpacked = await run(["tar", "--extract", "--gzip", "--file", file], { cwd: fresh })
  if (!unpacked.ok) throw new Error(`${name}@${version} can't be unpacked:\n${unpacked.output}`)
  renameSync(join(fresh, "package"), place)
  rmSync(fresh, { recursive: true })
  return place
}
