import * as z from "zod/mini"
import type { Snapshot } from "../../store/index.ts"
import { version } from "../version.ts"

// A backup is a tar, compressed by zstd and perhaps encrypted by age: each can be opened by other
// tools, and unpacked it is a data folder. First comes what says whose it is, last what says what
// all the others must be: a file that was cut has no end.

/** The parts that make a data folder, in the order in which they are restored. */
export const parts = [
  "master.key.fingerprint",
  "master.key",
  "latchkey.toml",
  "certificates.json",
  "latchkey.db",
] as const
export type Part = (typeof parts)[number]

export const aboutName = "latchkey-backup.txt"
export const manifestName = "latchkey-backup.json"

export const aboutText = `A backup of Latchkey ${version}. Bring it back with: latchkey restore FILE
`

/** What a file must be, bit by bit. */
export type Sum = { readonly size: number; readonly sha256: string }

const schema = z.object({
  format: z.literal(1),
  /** The version of Latchkey that made it, and when. */
  latchkey: z.string(),
  made: z.string(),
  /** Everything up to this event is in it. */
  position: z.int(),
  /** When that was written; null where nothing ever happened. */
  newest: z.nullable(z.string()),
  /** Version of the tables. */
  schema: z.int(),
  /** The file ends with a sum of all of it; absent in those of versions that added none. */
  sealed: z.optional(z.literal(true)),
  files: z.array(z.object({ name: z.enum(parts), size: z.int(), sha256: z.string() })),
})
export type Manifest = Readonly<z.output<typeof schema>>

/** Undefined for what is no manifest that this version can read. */
export function readManifest(text: string): Manifest | undefined {
  try {
    const read = schema.safeParse(JSON.parse(text))
    return read.success ? read.data : undefined
  } catch {
    // No JSON is no manifest.
    return undefined
  }
}

/** Says what a backup holds; `now` is in ms UTC. */
export function manifestOf(
  { position, newest, schema }: Snapshot,
  sums: ReadonlyMap<Part, Sum>,
  now: number,
): Manifest {
  const files = [...sums].map(([name, sum]) => ({ name, ...sum }))
  return {
    format: 1,
    latchkey: version,
    made: new Date(now).toISOString(),
    position,
    newest: newest === null ? null : new Date(newest).toISOString(),
    schema,
    sealed: true,
    files,
  }
}

export const has = ({ files }: Manifest, part: Part): boolean =>
  files.some(({ name }) => name === part)
