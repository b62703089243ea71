// Every decoder is listed with the limit of its cost, and tested with the most expensive input.
import { existsSync, globSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { costlyFiles } from "../support/costly-files.ts"
import { costlyRequests } from "../support/costly-requests.ts"
import { decoders } from "../support/decoders.ts"

const root = join(import.meta.dirname, "../..")

/** Calls that decode untrusted data; a new decoder must be added here. */
const decoderCalls: readonly RegExp[] = [
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
const decodingFiles = sources.filter((file) => {
  const text = readFileSync(join(root, "src", file), "utf8")
  return decoderCalls.some((call) => call.test(text))
})

test("every file that decodes data is listed with its limit", () => {
  const listed = new Set(decoders.flatMap((decoder) => filesOf(decoder, sources)))
  expect(decodingFiles.length).toBeGreaterThan(80)
  expect(decodingFiles.filter((file) => !listed.has(file))).toEqual([])
})

test.each(decoders.map((decoder) => [decoder.name, decoder] as const))(
  "%s: the listed files are those that decode",
  (_, decoder) => {
    for (const entry of decoder.files) {
      const found = decodingFiles.filter((file) =>
        entry.endsWith("/") ? file.startsWith(entry) : file === entry,
      )
      expect(found, entry).not.toEqual([])
    }
  },
)

describe("the most expensive input is tested:", () => {
  const known = new Set([...costlyRequests, ...costlyFiles].map(({ decoder }) => decoder))
  test.each(
    decoders
      .filter(({ sender }) => sender !== "this program" && sender !== "the operator")
      .map((decoder) => [decoder.name, decoder] as const),
  )("%s", (_, { tests = {} }) => {
    const { costlyRequests: rows = [], files = [] } = tests
    expect(rows.length + files.length).toBeGreaterThan(0)
    expect(rows.filter((row) => !known.has(row))).toEqual([])
    expect(files.filter((file) => !existsSync(join(root, file)))).toEqual([])
  })

  test("each row of the most expensive inputs belongs to a listed decoder", () => {
    const named = new Set(decoders.flatMap(({ tests }) => tests?.costlyRequests ?? []))
    expect([...known].filter((name) => !named.has(name))).toEqual([])
  })
})
