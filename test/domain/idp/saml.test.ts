// SAML identity providers: configuration, and the effects of their metadata.
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest"
import { createIdp } from "../../../src/domain/idp/commands.ts"
import {
  createMetadata,
  findAuthority,
  findIdpById,
  secretOf,
} from "../../../src/domain/idp/index.ts"
import { certificateOf } from "../../../src/domain/idp/saml/key-pair.ts"
import {
  currentProvider,
  refreshForUnknownKey,
  storedProvider,
} from "../../../src/domain/idp/saml/refresh.ts"
import type { Outside } from "../../../src/kernel/port/outbound.ts"
import { idpEntity, idpMetadata } from "../../saml/identity-provider.ts"
import { createKey, type ProviderKey } from "../../saml/service-provider.ts"
import { unreachableOutside } from "../../support/outside.ts"
import { openTenant, type Tenant } from "../../support/tenant.ts"

let keys: readonly [ProviderKey, ProviderKey]
beforeAll(async () => {
  keys = [await createKey(), await createKey()]
})
let estate: Tenant
let servedMetadata: string
let requestedUrls: string[]
let outside: Outside
beforeEach(async () => {
  estate = await openTenant()
  servedMetadata = idpMetadata([keys[0]])
  requestedUrls = []
  outside = {
    ...unreachableOutside,
    send: async ({ url }) => {
      requestedUrls.push(url)
      if (servedMetadata === "") throw new Error("nothing answers")
      return { status: 200, body: servedMetadata }
    },
  }
})
afterEach(() => estate.close())

const bytes = (text: string) => new TextEncoder().encode(text)
const xml = (text: string) => ({ metadata: { case: "metadataXml", value: bytes(text) } })
const url = { metadata: { case: "metadataUrl", value: "https://idp.example.com/metadata" } }
const callAsOwner = (name: string, request: object) =>
  estate.as("owner", name, request, { of: "admin.v1", cx: { outside } })
const add = async (request: object): Promise<string> =>
  (await callAsOwner("addSAMLProvider", { name: "Acme", ...request })).id
const update = (id: string, request: object) =>
  callAsOwner("updateSAMLProvider", { id, name: "Acme", ...request })
const requireIdp = (id: string) => {
  const found = findIdpById(estate.cx(), id)
  if (!found) throw new Error("no message provider is configured")
  return found
}
const cx = () => estate.cx({ outside })

describe("a SAML provider", () => {
  test("is returned as configured, without its private key", async () => {
    const id = await add({
      ...xml(servedMetadata),
      transientMappingAttributeName: "uid",
      nameIdFormat: 3,
    })
    const shown = await callAsOwner("getProviderByID", { id })
    const value = {
      metadataXml: bytes(servedMetadata),
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
    const { result } = await callAsOwner("listProviders", {})
    expect(result[0].config.config.value.metadataXml).toHaveLength(0)
  })

  test("requests persistent name IDs by default", async () => {
    const id = await add(xml(servedMetadata))
    const { idp } = await callAsOwner("getProviderByID", { id })
    expect(idp.config.config.value.nameIdFormat).toBe(2)
  })

  test("keeps its key pair until it is regenerated; the previous one still decrypts", async () => {
    const id = await add(xml(servedMetadata))
    const before = certificateOf(cx(), requireIdp(id))
    await update(id, { ...xml(servedMetadata), withSignedRequest: true })
    expect(certificateOf(cx(), requireIdp(id))).toBe(before)
    await callAsOwner("regenerateSAMLProviderCertificate", { id })
    expect(certificateOf(cx(), requireIdp(id))).not.toBe(before)
    expect(secretOf(cx(), id)).toContain(before)
    await callAsOwner("regenerateSAMLProviderCertificate", { id })
    expect(secretOf(cx(), id)).not.toContain(before)
  })

  test("has an encryption key only if encryption is requested", async () => {
    const id = await add(xml(servedMetadata))
    const isEncrypted = async () =>
      (await createMetadata(cx(), requireIdp(id))).includes('use="encryption"')
    const shown = async () =>
      (await callAsOwner("getProviderByID", { id })).idp.config.options.encryptAssertions
    expect([await isEncrypted(), await shown()]).toEqual([false, false])
    await update(id, { ...xml(servedMetadata), providerOptions: { encryptAssertions: true } })
    expect([await isEncrypted(), await shown()]).toEqual([true, true])
    // An update without it keeps it.
    await update(id, { ...xml(servedMetadata), providerOptions: { isAutoUpdate: true } })
    expect([await isEncrypted(), await shown()]).toEqual([true, true])
  })

  test("keeps its derived encryption key from before keys were stored, even when it changes", async () => {
    const id = await add(xml(servedMetadata))
    const { name, settings, options } = requireIdp(id).idp
    const { encryptAssertions: _, ...before } = options
    const secret = secretOf(cx(), id)
    const old = await createIdp(cx(), undefined, {
      name,
      settings,
      options: before,
      secret,
      metadata: servedMetadata,
    })
    const isEncrypted = async () =>
      (await createMetadata(cx(), requireIdp(old.id))).includes('use="encryption"')
    expect(await isEncrypted()).toBe(true)
    await update(old.id, { ...xml(servedMetadata), providerOptions: { isAutoUpdate: true } })
    expect(await isEncrypted()).toBe(true)
  })

  test("is removed with all its data", async () => {
    const id = await add(xml(servedMetadata))
    await callAsOwner("deleteProvider", { id })
    expect([secretOf(cx(), id), findIdpById(cx(), id)]).toEqual(["", undefined])
  })

  test.each<[string, () => object]>([
    ["metadata_xml", () => ({})],
    ["metadata_xml", () => xml("<x/>")],
    ["metadata_xml", () => xml(idpMetadata([]))],
    ["metadata_xml", () => xml(idpMetadata(keys, { binding: "SOAP" }))],
    ["metadata_xml", () => xml(`<!DOCTYPE x>${servedMetadata}`)],
    [
      "metadata_xml",
      () => xml(idpMetadata(keys, { attributes: 'validUntil="2020-01-01T00:00:00Z"' })),
    ],
    [
      "metadata_url",
      () => ({ metadata: { case: "metadataUrl", value: "http://idp.example.com" } }),
    ],
    ["metadata_url", () => ({ metadata: { case: "metadataUrl", value: "file:///etc/passwd" } })],
    ["binding", () => ({ ...xml(servedMetadata), binding: 1 })],
    ["binding", () => ({ ...xml(servedMetadata), binding: 3 })],
    ["signature_algorithm", () => ({ ...xml(servedMetadata), signatureAlgorithm: 1 })],
    ["name", () => ({ ...xml(servedMetadata), name: "" })],
  ])("with an invalid %s is rejected with an error that names it", async (field, request) => {
    await expect(add(request())).rejects.toMatchObject({ violation: { field } })
  })
})

describe("metadata at an address", () => {
  test("are reloaded after half a day and applied", async () => {
    const id = await add(url)
    await currentProvider(cx(), requireIdp(id))
    expect(requestedUrls).toHaveLength(1)
    servedMetadata = idpMetadata([keys[1]])
    estate.clock.advance(13 * 3_600_000)
    const { signingKeys } = await currentProvider(cx(), requireIdp(id))
    expect(requestedUrls).toHaveLength(2)
    expect(signingKeys).toEqual((await storedProvider(cx(), requireIdp(id))).signingKeys)
    expect(signingKeys).toHaveLength(1)
  })

  test("are ignored if unavailable or of another entity", async () => {
    const id = await add(url)
    const before = await storedProvider(cx(), requireIdp(id))
    for (const body of ["", idpMetadata(keys, { entityId: "https://evil.example.com" }), "<x/>"]) {
      servedMetadata = body
      estate.clock.advance(13 * 3_600_000)
      expect(await currentProvider(cx(), requireIdp(id))).toEqual(before)
    }
  })

  test("are reloaded at most once a minute for unknown keys", async () => {
    const id = await add(url)
    for (let at = 0; at < 3; at++) await refreshForUnknownKey(cx(), requireIdp(id))
    expect(requestedUrls).toHaveLength(2)
  })

  test("stay unchanged if they are sent back as returned", async () => {
    const id = await add(url)
    await update(id, { ...xml(servedMetadata), withSignedRequest: true })
    expect(requireIdp(id).idp.settings).toMatchObject({ metadataUrl: url.metadata.value })
  })
})

describe("a linked user", () => {
  const authorityAfter = async (first: object, second: object) => {
    const id = await add(first)
    const before = findAuthority(cx(), id)
    await update(id, { ...second, withSignedRequest: true })
    return before === findAuthority(cx(), id) ? "stays" : "does not"
  }

  test.each<[string, string, () => [object, object]]>([
    ["stays", "as long as no key is added", () => [xml(idpMetadata(keys)), xml(servedMetadata)]],
    [
      "does not",
      "where a key is added by hand",
      () => [xml(servedMetadata), xml(idpMetadata(keys))],
    ],
    ["does not", "with an address instead", () => [xml(servedMetadata), url]],
    [
      "does not",
      "of somebody else",
      () => [
        xml(servedMetadata),
        xml(servedMetadata.replaceAll(idpEntity, "https://other.example.com")),
      ],
    ],
  ])("%s %s", async (end, _, make) => {
    const [first, second] = make()
    expect(await authorityAfter(first, second)).toBe(end)
  })

  test("stays linked whatever keys the address has", async () => {
    const id = await add(url)
    const before = findAuthority(cx(), id)
    servedMetadata = idpMetadata([keys[1]])
    await update(id, url)
    expect(findAuthority(cx(), id)).toBe(before)
  })
})
