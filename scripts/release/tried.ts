import { existsSync } from "node:fs"
import { run } from "../step.ts"
import type { Target } from "./target.ts"

/** Whether this machine can start what is made for a system. */
export function canTry({ name }: Target): boolean {
  if (process.platform !== "linux") return false
  const processor = process.arch === "arm64" ? "arm64" : "x64"
  if (name === `linux-${processor}`) return true
  const loader = process.arch === "arm64" ? "aarch64" : "x86_64"
  return name === `linux-${processor}-musl` && existsSync(`/lib/ld-musl-${loader}.so.1`)
}

/** Has a binary say its version, where it can; throws where it should start and doesn't. */
export async function tryBinary(target: Target, binary: string): Promise<string> {
  if (!canTry(target)) return "not tried: built on another system"
  const { ok, output } = await run([binary, "version"])
  if (!ok) throw new Error(`the binary for ${target.name} does not start:\n${output}`)
  return `starts: ${output.trim()}`
}

/** What was tried and what was not, for who downloads it. */
export const triedText = (version: string, tried: readonly (readonly [Target, string])[]): string =>
  [
    `Latchkey ${version}: what has been tried of this release on the machine that made it.`,
    "All tests run on linux-x64 alone. What was not tried is built from the same code, no more.",
    "",
    ...tried.map(([{ name }, said]) => `${name.padEnd(18)} ${said}`),
    "",
  ].join("\n")
