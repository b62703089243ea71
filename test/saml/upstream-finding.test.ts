// The broken rule of a SAML provider's response, as administrators see it.
import { createHash, X509Certificate } from "node:crypto"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { searchRefusals } from "../../src/domain/refusal/refusal.ts"
import type { NewClient, Provider } from "../oauth/provider.ts"
import {
  type AssertionOptions,
  ada,
  createAssertion,
  createResponse,
  idpMetadata,
  type SamlRequest,
  type SignatureOptions,
  signXml,
} from "./identity-provider.ts"
import { createKey, openSamlProvider, type ProviderKey, pemOf } from "./service-provider.ts"
import { addSaml, newBrowser, postResponse, requestAtProvider } from "./upstream.ts"

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
const person: AssertionOptions = { nameId: "ada-id", attributes: { ...ada, UserName: "ada" } }

/** A valid response, with the given changes. */
const createValidResponse = (
  request: SamlRequest,
  options: AssertionOptions = {},
  signing: Partial<SignatureOptions> = {},
): string =>
  createResponse(
    request,
    now(),
    signXml(createAssertion(request, now(), { ...person, ...options }), { by: key, ...signing }),
    options,
  )

/** What administrators see of the last rejected response. */
async function findFinding(make: (request: SamlRequest) => string) {
  const browser = newBrowser(provider)
  const asked = await requestAtProvider(browser, client.id)
  const end = await postResponse(provider, browser, { xml: make(asked), asked })
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
  test.each<[string, string, () => AssertionOptions, object]>([
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
  ])("%s", async (_, rule, text, values) => {
    expect(await findFinding((request) => createValidResponse(request, text()))).toMatchObject({
      likelyCauseKey: `provider.${rule}`,
      ...values,
    })
  })

  test("the hash of the signing key and of the accepted keys", async () => {
    const finding = await findFinding((request) => createValidResponse(request, {}, { by: other }))
    expect(finding).toMatchObject({ likelyCauseKey: "provider.saml_signature" })
    expect(finding?.expected).toEqual([expect.stringMatching(/^[0-9a-f]{64}$/)])
    expect(finding?.expected).not.toContain(finding?.received)
  })

  test("the key of an embedded certificate, and nothing of an invalid one", async () => {
    const withCertificate = (base64: string) => (request: SamlRequest) =>
      createValidResponse(request, {}, { by: other }).replace(
        /(X509Certificate>)[^<]*/,
        `$1${base64}`,
      )
    const { publicKey } = new X509Certificate(pemOf(other.certificate))
    const spki = publicKey.export({ type: "spki", format: "der" })
    const known = await findFinding(withCertificate(other.certificate))
    expect(known?.received).toBe(createHash("sha256").update(spki).digest("hex"))
    for (const none of ["AAAA", "not base64 at all", "A".repeat(9000)]) {
      expect((await findFinding(withCertificate(none)))?.received).toBe("")
    }
  })

  test("the error status of the provider", async () => {
    expect(
      await findFinding((request) => createValidResponse(request, { status: "NoPassive" })),
    ).toMatchObject({
      likelyCauseKey: "provider.saml_status",
      subject: "Status",
      received: ours("NoPassive"),
      expected: [ours("status:Success")],
    })
  })
})
