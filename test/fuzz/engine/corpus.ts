import { createHash } from "node:crypto"
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"

export const corpusFolder = join(import.meta.dirname, "../corpus")

/** Files of one target; more would only make the replay slower. */
export const filesMax = 60

/** Bytes of one file, so that the corpus stays small. */
export const fileBytesMax = 4096

/** Bytes of all files of one target. */
export const targetBytesMax = 25_000

/** Bytes of all files together. */
export const keptBytesMax = 500_000

export type CorpusFile = { readonly name: string; readonly bytes: Buffer }

/** The inputs that are kept for a target, by the names of their files. */
export function readCorpus(target: string): readonly CorpusFile[] {
  const folder = join(corpusFolder, target)
  if (!existsSync(folder)) return []
  return readdirSync(folder)
    .sort()
    .map((name) => ({ name, bytes: readFileSync(join(folder, name)) }))
}

/** Keeps an input under its hash; answers the path. */
export function keepInput(target: string, input: Uint8Array, prefix = ""): string {
  const folder = join(corpusFolder, target)
  mkdirSync(folder, { recursive: true })
  const hash = createHash("sha256").update(input).digest("hex").slice(0, 16)
  const path = join(folder, prefix + hash)
  writeFileSync(path, input)
  return path
}
