// Which rule the response of a SAML provider breaks, as its administrators are shown.
import { createHash, X509Certificate } from "node:crypto"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { searchRefusals } from "../../src/domain/refusal/refusal.ts"
import type { NewClient, Provider } from "../oauth/provider.ts"
import {
  type Asked,
  ada,
  assertionFor,
  idpMetadata,
  responseFor,
  type Said,
  type Signing,
  signedXml,
} from "./identity-provider.ts"
import { createKey, openSamlProvider, type ProviderKey, pemOf } from "./service-provider.ts"
import { addSaml, askedFor, bring, newBrowser } from "./upstream.ts"

let provider: Provider
let client: NewClient
let key: ProviderKey
let other: ProviderKey
beforeAll(async () => {
  provider = await openSamlProvider()
  client = await provider.addClient()
  key = await createKey()
  other = await createKey()
  await addSaml(provider, idpMetadata([key]))
})
afterAll(() => provider.close())

const now = () => provider.clock.now()
const minute = 60_000
const person: Said = { nameId: "ada-id", attributes: { ...ada, UserName: "ada" } }

/** A response as it should be, with what is said otherwise. */
const good = (asked: Asked, said: Said = {}, signing: Partial<Signing> = {}): string =>
  responseFor(
    asked,
    now(),
    signedXml(assertionFor(asked, now(), { ...person, ...said }), { by: key, ...signing }),
    said,
  )

/** What administrators are shown of the last response that was refused. */
async function findingOf(make: (asked: Asked) => string) {
  const browser = newBrowser(provider)
  const asked = await askedFor(browser, client.id)
  const end = await bring(provider, browser, { xml: make(asked), asked })
  expect(end.response.status).toBe(400)
  const page = { offset: 0, limit: 1, asc: false }
  const scope = { all: true, orgs: [], projects: [], grants: [] }
  const [last] = searchRefusals(
    { ...provider.cx(), scope },
    { requestId: "", appId: "", page },
  ).rows
  const { description = "", findings = [] } = last ?? {}
  expect(description).not.toMatch(/\b\w*Error\b/)
  return findings[0]
}

describe("administrators see the rule and both values:", () => {
  const elsewhere = "https://other.example.com"
  const ours = (path: string) => expect.stringContaining(path)
  test.each<[string, string, () => Said, object]>([
    [
      ...(["the audience", "saml_audience", () => ({ audience: elsewhere })] as const),
      { subject: "Audience", received: elsewhere, expected: [ours("metadata")] },
    ],
    [
      ...(["the destination", "saml_destination", () => ({ destination: elsewhere })] as const),
      { subject: "Destination", received: elsewhere, expected: [ours("acs")] },
    ],
    [
      ...(["the request", "saml_in_response_to", () => ({ inResponseTo: "_other" })] as const),
      { subject: "InResponseTo", received: "_other", expected: [ours("_")] },
    ],
    [
      ...(["the recipient", "saml_confirmation", () => ({ recipient: elsewhere })] as const),
      {
        subject: "Recipient of the SubjectConfirmation",
        received: elsewhere,
        expected: [ours("acs")],
      },
    ],
    [
      ...(["the issuer", "saml_issuer", () => ({ issuer: elsewhere })] as const),
      { received: elsewhere, expected: [ours("https://")] },
    ],
    [
      ...(["the times", "saml_time", () => ({ notBefore: now() + 5 * minute })] as const),
      { subject: "NotBefore", received: ours("Z"), expected: [ours("or earlier")] },
    ],
  ])("%s", async (_, rule, said, values) => {
    expect(await findingOf((asked) => good(asked, said()))).toMatchObject({
      likelyCauseKey: `provider.${rule}`,
      ...values,
    })
  })

  test("the key, by its hash, that signed and those that may", async () => {
    const finding = await findingOf((asked) => good(asked, {}, { by: other }))
    expect(finding).toMatchObject({ likelyCauseKey: "provider.saml_signature" })
    expect(finding?.expected).toEqual([expect.stringMatching(/^[0-9a-f]{64}$/)])
    expect(finding?.expected).not.toContain(finding?.received)
  })

  test("the key of a certificate that came along, and nothing of what is none", async () => {
    const withCertificate = (base64: string) => (asked: Asked) =>
      good(asked, {}, { by: other }).replace(/(X509Certificate>)[^<]*/, `$1${base64}`)
    const { publicKey } = new X509Certificate(pemOf(other.certificate))
    const spki = publicKey.export({ type: "spki", format: "der" })
    const known = await findingOf(withCertificate(other.certificate))
    expect(known?.received).toBe(createHash("sha256").update(spki).digest("hex"))
    for (const none of ["AAAA", "not base64 at all", "A".repeat(9000)]) {
      expect((await findingOf(withCertificate(none)))?.received).toBe("")
    }
  })

  test("the status with which the provider has signed nobody in", async () => {
    expect(await findingOf((asked) => good(asked, { status: "NoPassive" }))).toMatchObject({
      likelyCauseKey: "provider.saml_status",
      subject: "Status",
      received: ours("NoPassive"),
      expected: [ours("status:Success")],
    })
  })
})
