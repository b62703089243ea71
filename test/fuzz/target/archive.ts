import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { zstdCompressSync } from "node:zlib"
import { hashOfLine, publicJwkOf, sealLine } from "../../../src/boot/audit/chain.ts"
import { verifyEvents } from "../../../src/boot/audit/verify.ts"
import { pack, unpack } from "../../../src/boot/backup/archive.ts"
import { type Bytes, nowhere } from "../../../src/boot/backup/bytes.ts"
import { manifestOf, parts } from "../../../src/boot/backup/manifest.ts"
import { sealed } from "../../../src/boot/backup/seal.ts"
import { edKey } from "../engine/keys.ts"
import { fuzzTarget, must, mustEqual } from "../engine/target.ts"

const streamOf = (bytes: Uint8Array): Bytes => new Blob([new Uint8Array(bytes)]).stream()

async function packedOf(files: Readonly<Record<string, string>>): Promise<Buffer> {
  const sources = Object.entries(files).map(([name, content]) => ({
    name: name as (typeof parts)[number],
    size: content.length,
    bytes: () => streamOf(Buffer.from(content)),
  }))
  const snapshot = { position: 1, newest: null, schema: 1 } as Parameters<typeof manifestOf>[0]
  const packed = await pack(sources, (sums) => manifestOf(snapshot, sums, 0), undefined)
  return Buffer.from(await new Response(packed).arrayBuffer())
}

const tarOf = async (files: Readonly<Record<string, string>>): Promise<Buffer> =>
  Buffer.from(Bun.zstdDecompressSync(await packedOf(files)))

/** Backups, as the tar that they are once decompressed; after "raw:" the compressed file itself. */
export const backupArchive = fuzzTarget({
  name: "backup-archive",
  seeds: async () => {
    const files = { "latchkey.db": "database", "latchkey.toml": "a = 1" }
    const tar = await tarOf(files)
    const raw = Buffer.concat([Buffer.from("raw:"), await packedOf(files)])
    return [tar, await tarOf({ "latchkey.db": "" }), raw, "raw:age-encryption.org/v1\n-> X"]
  },
  tokens: [
    "latchkey.db",
    "../latchkey.db",
    "master.key",
    "latchkey-backup.json",
    "ustar",
    "0000000",
    "77777777777",
    "path=",
    "size=",
    "20 path=/etc/passwd\n",
    "sha256",
    "raw:",
    "L",
    "x",
    "5",
  ],
  parse: async (input) => {
    const isRaw = input.subarray(0, 4).equals(Buffer.from("raw:"))
    const bytes = isRaw ? streamOf(input.subarray(4)) : sealed(streamOf(zstdCompressSync(input)))
    const placed: string[] = []
    const manifest = await unpack(bytes, {}, async (part, fill) => {
      placed.push(part)
      return fill(nowhere)
    })
    return { placed, files: manifest.files.map(({ name }) => name) }
  },
  check: ({ placed, files }) => {
    must(placed.includes("latchkey.db"), "there is a database")
    for (const part of placed) must((parts as readonly string[]).includes(part), "known parts only")
    mustEqual([...new Set(placed)].sort(), [...files].sort(), "exactly what the list says")
  },
})

function sealedLines(): string {
  const key = edKey("audit")
  const head = { latchkey: "events", version: 1, instance: "1", after: 0, key: publicJwkOf(key) }
  const lines = [JSON.stringify(head)]
  let events = 0
  for (const count of [2, 1]) {
    for (let each = 0; each < count; each++) {
      const previous = hashOfLine(lines.at(-1) ?? "")
      lines.push(JSON.stringify({ previous, position: ++events, type: "user.added" }))
    }
    const hash = hashOfLine(lines.at(-1) ?? "")
    const seal = { instance: "1", position: events, events, hash, iat: 1_767_000_000 }
    lines.push(sealLine({ id: "1", key }, seal))
  }
  return `${lines.join("\n")}\n`
}

type Folder = { readonly path: string; readonly file: string }

/** Exports of events, whose seals show whether a line was changed. */
export const auditFile = fuzzTarget<Awaited<ReturnType<typeof verifyEvents>>, Folder>({
  name: "audit-file",
  open: async () => {
    const path = mkdtempSync(join(tmpdir(), "latchkey-fuzz-"))
    writeFileSync(join(path, "key"), JSON.stringify(publicJwkOf(edKey("audit"))))
    return { path, file: join(path, "events") }
  },
  close: async ({ path }) => rmSync(path, { recursive: true }),
  seeds: () => [sealedLines(), sealedLines().split("\n").slice(0, 4).join("\n")],
  tokens: ["previous", "position", "seal", "instance", "\n", "\u2028", "}", '{"seal":"', "."],
  parse: (input, { path, file }) => {
    writeFileSync(file, input)
    return verifyEvents(file, join(path, "key"))
  },
  check: ({ wrong }, input) => {
    if (wrong !== "") return
    // A file may end at any seal; nothing else of it may be another.
    const lines = input.toString().replace(/\n$/, "")
    must(sealedLines().startsWith(`${lines}\n`), "an altered file is not verified")
  },
})
