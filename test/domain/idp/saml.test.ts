// Identity providers that speak SAML: how they are set up, and what their metadata do.
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest"
import { addIdp } from "../../../src/domain/idp/commands.ts"
import { authorityOfIdp, idpById, samlMetadata, secretOf } from "../../../src/domain/idp/index.ts"
import {
  keptProvider,
  providerNow,
  providerWithNewKeys,
} from "../../../src/domain/idp/saml/known.ts"
import { certificateOf } from "../../../src/domain/idp/saml/pair.ts"
import type { Outside } from "../../../src/kernel/port/outbound.ts"
import { idpEntity, idpMetadata } from "../../saml/identity-provider.ts"
import { createKey, type ProviderKey } from "../../saml/service-provider.ts"
import { type Estate, openEstate } from "../../support/estate.ts"
import { nowhere } from "../../support/outside.ts"

let keys: readonly [ProviderKey, ProviderKey]
beforeAll(async () => {
  keys = [await createKey(), await createKey()]
})
let estate: Estate
let served: string
let asked: string[]
let outside: Outside
beforeEach(async () => {
  estate = await openEstate()
  served = idpMetadata([keys[0]])
  asked = []
  outside = {
    ...nowhere,
    send: async ({ url }) => {
      asked.push(url)
      if (served === "") throw new Error("nothing answers")
      return { status: 200, body: served }
    },
  }
})
afterEach(() => estate.close())

const bytes = (text: string) => new TextEncoder().encode(text)
const xml = (text: string) => ({ metadata: { case: "metadataXml", value: bytes(text) } })
const url = { metadata: { case: "metadataUrl", value: "https://idp.example.com/metadata" } }
const asOwner = (name: string, request: object) =>
  estate.as("owner", name, request, { of: "admin.v1", cx: { outside } })
const add = async (request: object): Promise<string> =>
  (await asOwner("addSAMLProvider", { name: "Acme", ...request })).id
const update = (id: string, request: object) =>
  asOwner("updateSAMLProvider", { id, name: "Acme", ...request })
const foundOf = (id: string) => {
  const found = idpById(estate.cx(), id)
  if (!found) throw new Error("there is no provider")
  return found
}
const cx = () => estate.cx({ outside })

describe("a provider that speaks SAML", () => {
  test("is shown as it was set up, and its private key to nobody", async () => {
    const id = await add({ ...xml(served), transientMappingAttributeName: "uid", nameIdFormat: 3 })
    const shown = await asOwner("getProviderByID", { id })
    const value = {
      metadataXml: bytes(served),
      binding: 2,
      withSignedRequest: false,
      nameIdFormat: 3,
      signatureAlgorithm: 2,
      transientMappingAttributeName: "uid",
      federatedLogoutEnabled: false,
    }
    expect(shown.idp).toMatchObject({ type: 12, config: { config: { case: "saml", value } } })
    expect(JSON.stringify(shown, (_, v) => (typeof v === "bigint" ? `${v}` : v))).not.toContain(
      "privateKey",
    )
    const { result } = await asOwner("listProviders", {})
    expect(result[0].config.config.value.metadataXml).toHaveLength(0)
  })

  test("asks for lasting names, where nobody says for which", async () => {
    const id = await add(xml(served))
    const { idp } = await asOwner("getProviderByID", { id })
    expect(idp.config.config.value.nameIdFormat).toBe(2)
  })

  test("keeps its key pair, until it is made anew; the one before still opens", async () => {
    const id = await add(xml(served))
    const before = certificateOf(cx(), foundOf(id))
    await update(id, { ...xml(served), withSignedRequest: true })
    expect(certificateOf(cx(), foundOf(id))).toBe(before)
    await asOwner("regenerateSAMLProviderCertificate", { id })
    expect(certificateOf(cx(), foundOf(id))).not.toBe(before)
    expect(secretOf(cx(), id)).toContain(before)
    await asOwner("regenerateSAMLProviderCertificate", { id })
    expect(secretOf(cx(), id)).not.toContain(before)
  })

  test("gets an encryption key only where encryption is requested", async () => {
    const id = await add(xml(served))
    const isEncrypted = async () =>
      (await samlMetadata(cx(), foundOf(id))).includes('use="encryption"')
    const shown = async () =>
      (await asOwner("getProviderByID", { id })).idp.config.options.encryptAssertions
    expect([await isEncrypted(), await shown()]).toEqual([false, false])
    await update(id, { ...xml(served), providerOptions: { encryptAssertions: true } })
    expect([await isEncrypted(), await shown()]).toEqual([true, true])
    // An update that leaves it out keeps it.
    await update(id, { ...xml(served), providerOptions: { isAutoUpdate: true } })
    expect([await isEncrypted(), await shown()]).toEqual([true, true])
  })

  test("from before it was stored keeps its encryption key, also when it is changed", async () => {
    const id = await add(xml(served))
    const { name, settings, options } = foundOf(id).idp
    const { encryptAssertions: _, ...before } = options
    const secret = secretOf(cx(), id)
    const old = await addIdp(cx(), undefined, {
      name,
      settings,
      options: before,
      secret,
      metadata: served,
    })
    const isEncrypted = async () =>
      (await samlMetadata(cx(), foundOf(old.id))).includes('use="encryption"')
    expect(await isEncrypted()).toBe(true)
    await update(old.id, { ...xml(served), providerOptions: { isAutoUpdate: true } })
    expect(await isEncrypted()).toBe(true)
  })

  test("is gone with all that it had", async () => {
    const id = await add(xml(served))
    await asOwner("deleteProvider", { id })
    expect([secretOf(cx(), id), idpById(cx(), id)]).toEqual(["", undefined])
  })

  test.each<[string, () => object]>([
    ["metadata_xml", () => ({})],
    ["metadata_xml", () => xml("<x/>")],
    ["metadata_xml", () => xml(idpMetadata([]))],
    ["metadata_xml", () => xml(idpMetadata(keys, { binding: "SOAP" }))],
    ["metadata_xml", () => xml(`<!DOCTYPE x>${served}`)],
    [
      "metadata_xml",
      () => xml(idpMetadata(keys, { attributes: 'validUntil="2020-01-01T00:00:00Z"' })),
    ],
    [
      "metadata_url",
      () => ({ metadata: { case: "metadataUrl", value: "http://idp.example.com" } }),
    ],
    ["metadata_url", () => ({ metadata: { case: "metadataUrl", value: "file:///etc/passwd" } })],
    ["binding", () => ({ ...xml(served), binding: 1 })],
    ["binding", () => ({ ...xml(served), binding: 3 })],
    ["signature_algorithm", () => ({ ...xml(served), signatureAlgorithm: 1 })],
    ["name", () => ({ ...xml(served), name: "" })],
  ])("with wrong %s is refused by that name", async (field, request) => {
    await expect(add(request())).rejects.toMatchObject({ violation: { field } })
  })
})

describe("metadata at an address", () => {
  test("are read anew after half a day, and what is new of them counts", async () => {
    const id = await add(url)
    await providerNow(cx(), foundOf(id))
    expect(asked).toHaveLength(1)
    served = idpMetadata([keys[1]])
    estate.clock.advance(13 * 3_600_000)
    const { signingKeys } = await providerNow(cx(), foundOf(id))
    expect(asked).toHaveLength(2)
    expect(signingKeys).toEqual((await keptProvider(cx(), foundOf(id))).signingKeys)
    expect(signingKeys).toHaveLength(1)
  })

  test("that don't answer, or are somebody else's, leave things as they are", async () => {
    const id = await add(url)
    const before = await keptProvider(cx(), foundOf(id))
    for (const body of ["", idpMetadata(keys, { entityId: "https://evil.example.com" }), "<x/>"]) {
      served = body
      estate.clock.advance(13 * 3_600_000)
      expect(await providerNow(cx(), foundOf(id))).toEqual(before)
    }
  })

  test("are read once a minute for keys that nobody knows", async () => {
    const id = await add(url)
    for (let at = 0; at < 3; at++) await providerWithNewKeys(cx(), foundOf(id))
    expect(asked).toHaveLength(2)
  })

  test("stay where they are when they come back as they are shown", async () => {
    const id = await add(url)
    await update(id, { ...xml(served), withSignedRequest: true })
    expect(foundOf(id).idp.settings).toMatchObject({ metadataUrl: url.metadata.value })
  })
})

describe("who is linked", () => {
  const authorityAfter = async (first: object, second: object) => {
    const id = await add(first)
    const before = authorityOfIdp(cx(), id)
    await update(id, { ...second, withSignedRequest: true })
    return before === authorityOfIdp(cx(), id) ? "stays" : "does not"
  }

  test.each<[string, string, () => [object, object]]>([
    ["stays", "as long as no key is added", () => [xml(idpMetadata(keys)), xml(served)]],
    ["does not", "where a key is added by hand", () => [xml(served), xml(idpMetadata(keys))]],
    ["does not", "with an address instead", () => [xml(served), url]],
    [
      "does not",
      "of somebody else",
      () => [xml(served), xml(served.replaceAll(idpEntity, "https://other.example.com"))],
    ],
  ])("%s %s", async (end, _, make) => {
    const [first, second] = make()
    expect(await authorityAfter(first, second)).toBe(end)
  })

  test("stays whatever keys stand at the same address", async () => {
    const id = await add(url)
    const before = authorityOfIdp(cx(), id)
    served = idpMetadata([keys[1]])
    await update(id, url)
    expect(authorityOfIdp(cx(), id)).toBe(before)
  })
})
