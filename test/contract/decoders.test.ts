// Whatever reads data in a format is listed with what bounds its cost, and tested with the worst.
import { existsSync, globSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { decoders } from "../support/decoders.ts"
import { worst } from "../support/worst.ts"
import { worstFiles } from "../support/worst-files.ts"

const root = join(import.meta.dirname, "../..")

/** What reads data that others may have made; a decoder that is new to the program joins it. */
const calls: readonly RegExp[] = [
  /\bJSON\.parse\(/,
  /\bfrom(Json|JsonString|Binary)\(/,
  /\b(inflate|inflateRaw|gunzip|unzip|brotliDecompress|zstdDecompress)(Sync)?\b(?=\(|\))/,
  /\bnew DOMParser\(/,
  /\bBun\.Image\(/,
  /\bYAML\.parse\(/,
  /\bnew X509Certificate\(/,
  /\bcreate(Public|Private)Key\(/,
  /\bimport(Key|JWK|SPKI|X509|PKCS8)\(/,
  /\b(jwtVerify|compactVerify|compactDecrypt|jwtDecrypt|decodeJwt|decodeProtectedHeader)\(/,
  /\.formData\(\)/,
  /\.json\(\)/,
  /\bnew RegExp\(/,
  /\bWebAssembly\.compile\(/,
  /(import\(|from )"(csv-parse|@streamparser\/json|modern-tar|age-encryption|ldapts|nodemailer)/,
  /(import\(|from )"(xml-crypto|xml-encryption)/,
  /(import\(|from )"(@simplewebauthn\/server|@peculiar\/x509|oauth4webapi|messageformat)/,
]

const filesOf = (decoder: (typeof decoders)[number], all: readonly string[]) =>
  all.filter((file) =>
    decoder.files.some((each) => (each.endsWith("/") ? file.startsWith(each) : file === each)),
  )

const sources = globSync("**/*.ts", { cwd: join(root, "src") }).filter(
  (file) => !file.startsWith("gen/"),
)
const reading = sources.filter((file) => {
  const text = readFileSync(join(root, "src", file), "utf8")
  return calls.some((call) => call.test(text))
})

test("every file that reads data in a format is listed with its bound", () => {
  const listed = new Set(decoders.flatMap((decoder) => filesOf(decoder, sources)))
  expect(reading.length).toBeGreaterThan(80)
  expect(reading.filter((file) => !listed.has(file))).toEqual([])
})

test.each(decoders.map((decoder) => [decoder.name, decoder] as const))(
  "%s: the files are those that read",
  (_, decoder) => {
    for (const entry of decoder.files) {
      const found = reading.filter((file) =>
        entry.endsWith("/") ? file.startsWith(entry) : file === entry,
      )
      expect(found, entry).not.toEqual([])
    }
  },
)

describe("the worst that can be sent is tested:", () => {
  const known = new Set([...worst, ...worstFiles].map(({ decoder }) => decoder))
  test.each(
    decoders
      .filter(({ sender }) => sender !== "this program" && sender !== "the operator")
      .map((decoder) => [decoder.name, decoder] as const),
  )("%s", (_, { tests = {} }) => {
    const { worst: rows = [], files = [] } = tests
    expect(rows.length + files.length).toBeGreaterThan(0)
    expect(rows.filter((row) => !known.has(row))).toEqual([])
    expect(files.filter((file) => !existsSync(join(root, file)))).toEqual([])
  })

  test("each row of the worst inputs is that of a listed decoder", () => {
    const named = new Set(decoders.flatMap(({ tests }) => tests?.worst ?? []))
    expect([...known].filter((name) => !named.has(name))).toEqual([])
  })
})
