import { createHash } from "node:crypto"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { answered, type Browser, type Row, signedIn } from "./must.ts"
import {
  askToken,
  challenge,
  codeFields,
  type NewClient,
  openProvider,
  type Provider,
} from "./provider.ts"

let provider: Provider
let web: NewClient
let browser: Browser
beforeAll(async () => {
  provider = await openProvider()
  web = await provider.addClient()
  browser = await signedIn(provider, web)
})
afterAll(() => provider.close())

const s256 = (verifier: string) => createHash("sha256").update(verifier).digest("base64url")

/** Asks for a code by the challenge of a verifier, and for tokens with it. */
async function tried(code_verifier: string) {
  const { code = "" } = await answered(browser, web, { code_challenge: s256(code_verifier) })
  const fields = codeFields(code, { code_verifier })
  return (await askToken(provider, fields, `${web.id}:${web.secret}`)).status
}

const rows: readonly Row[] = [
  [
    "§4.1 a verifier has 43 to 128 characters of those allowed",
    async () => {
      for (const good of ["a".repeat(43), "Z9-._~".repeat(20), "b".repeat(128)]) {
        expect(await tried(good), good).toBe(200)
      }
      const bad = ["a".repeat(42), "a".repeat(129), `${"a".repeat(43)} `, "ä".repeat(43)]
      for (const verifier of [...bad, `${"a".repeat(43)}+`, `${"a".repeat(43)}\n`]) {
        expect(await tried(verifier), verifier).toBe(400)
      }
    },
  ],
  [
    "§4.4 the challenge is bound to the code and not shown in it",
    async () => {
      const { code = "" } = await answered(browser, web)
      const plain = Buffer.from(code.split(".")[1] ?? "", "base64url").toString("latin1")
      expect(code + plain).not.toContain(challenge)
      expect(plain).not.toContain(Buffer.from(challenge, "base64url").toString("latin1"))
      const other = { code_verifier: "w".repeat(43) }
      const as = `${web.id}:${web.secret}`
      expect((await askToken(provider, codeFields(code, other), as)).status).toBe(400)
      // A wrong verifier does not use the code up: its owner comes later with the right one.
      expect((await askToken(provider, codeFields(code), as)).status).toBe(200)
    },
  ],
  [
    "§4.6 a missing verifier is invalid_grant",
    async () => {
      const { code = "" } = await answered(browser, web)
      const { code_verifier, ...without } = codeFields(code)
      const { status, answer } = await askToken(provider, without, `${web.id}:${web.secret}`)
      expect([status, answer.error, code_verifier.length]).toEqual([400, "invalid_grant", 43])
    },
  ],
]

describe("RFC 7636", () => {
  test.each(rows)("%s", (_, holds) => holds())
})
