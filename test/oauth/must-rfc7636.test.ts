import { createHash } from "node:crypto"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { authorize, type Browser, openSignedIn, type Row } from "./must.ts"
import {
  challenge,
  codeFields,
  type NewClient,
  openProvider,
  type Provider,
  sendTokenRequest,
} from "./provider.ts"

let provider: Provider
let web: NewClient
let browser: Browser
beforeAll(async () => {
  provider = await openProvider()
  web = await provider.addClient()
  browser = await openSignedIn(provider, web)
})
afterAll(() => provider.close())

const s256 = (verifier: string) => createHash("sha256").update(verifier).digest("base64url")

/** Requests a code with the challenge of a verifier, and redeems it. */
async function redeemWithVerifier(code_verifier: string) {
  const { code = "" } = await authorize(browser, web, { code_challenge: s256(code_verifier) })
  const fields = codeFields(code, { code_verifier })
  return (await sendTokenRequest(provider, fields, `${web.id}:${web.secret}`)).status
}

const rows: readonly Row[] = [
  [
    "§4.1 a verifier has 43 to 128 characters of those allowed",
    async () => {
      for (const good of ["a".repeat(43), "Z9-._~".repeat(20), "b".repeat(128)]) {
        expect(await redeemWithVerifier(good), good).toBe(200)
      }
      const bad = ["a".repeat(42), "a".repeat(129), `${"a".repeat(43)} `, "ä".repeat(43)]
      for (const verifier of [...bad, `${"a".repeat(43)}+`, `${"a".repeat(43)}\n`]) {
        expect(await redeemWithVerifier(verifier), verifier).toBe(400)
      }
    },
  ],
  [
    "§4.4 the challenge is bound to the code and not shown in it",
    async () => {
      const { code = "" } = await authorize(browser, web)
      const plain = Buffer.from(code.split(".")[1] ?? "", "base64url").toString("latin1")
      expect(code + plain).not.toContain(challenge)
      expect(plain).not.toContain(Buffer.from(challenge, "base64url").toString("latin1"))
      const other = { code_verifier: "w".repeat(43) }
      const as = `${web.id}:${web.secret}`
      expect((await sendTokenRequest(provider, codeFields(code, other), as)).status).toBe(400)
      // A wrong verifier does not consume the code: the client can still redeem it.
      expect((await sendTokenRequest(provider, codeFields(code), as)).status).toBe(200)
    },
  ],
  [
    "§4.6 a missing verifier is invalid_grant",
    async () => {
      const { code = "" } = await authorize(browser, web)
      const { code_verifier, ...without } = codeFields(code)
      const { status, answer } = await sendTokenRequest(
        provider,
        without,
        `${web.id}:${web.secret}`,
      )
      expect([status, answer.error, code_verifier.length]).toEqual([400, "invalid_grant", 43])
    },
  ],
]

describe("RFC 7636", () => {
  test.each(rows)("%s", (_, holds) => holds())
})
