import { getSamlKeys, type SamlKeys } from "../../domain/key/index.ts"
import { lru } from "../../kernel/lru.ts"
import type { Cx } from "../../store/index.ts"
import { bindingNames, nameIdFormats, namespaces } from "../../xml/names.ts"
import { createKeyInfo, signElement } from "../../xml/sign.ts"
import { element, serialize, type XmlNode } from "../../xml/write.ts"
import { entityOfInstance, type SamlEntity } from "../path.ts"
import type { Endpoint } from "./endpoint.ts"

/** How long the metadata can be cached. */
const cacheSeconds = 3600

/** SAML Metadata §2.4.3: entity ID, endpoints and certificates. */
export const metadata: Endpoint = {
  methods: ["GET"],
  handle: async ({ cx }) =>
    new Response(await signedMetadata(cx), {
      headers: {
        "content-type": "application/samlmetadata+xml",
        "cache-control": `public, max-age=${cacheSeconds}`,
      },
    }),
}

/** The signing certificate as a file. */
export const certificate: Endpoint = {
  methods: ["GET"],
  handle: async ({ cx }) =>
    new Response(toPem((await getSamlKeys(cx)).certificate), {
      headers: {
        "content-type": "application/x-pem-file",
        "content-disposition": 'attachment; filename="saml-certificate.pem"',
        "cache-control": `public, max-age=${cacheSeconds}`,
      },
    }),
}

const toPem = (base64: string): string =>
  [
    "-----BEGIN CERTIFICATE-----",
    ...(base64.match(/.{1,64}/g) ?? []),
    "-----END CERTIFICATE-----",
    "",
  ].join("\n")

/** Changes only with the keys and the public URL, so the signature is cached. */
async function signedMetadata(cx: Cx): Promise<string> {
  const keys = await getSamlKeys(cx)
  const self = entityOfInstance(cx)
  const about = `${self.entityId} ${keys.certificate} ${keys.certificates.join(" ")}`
  const before = metadataCache.get(about)
  if (before !== undefined) return before
  const document = serialize(await signElement(buildMetadata(self, keys), 0, keys))
  const xml = `<?xml version="1.0" encoding="UTF-8"?>\n${document}`
  metadataCache.set(about, xml)
  return xml
}

const metadataCache = lru<string>(100)

function buildMetadata(self: SamlEntity, { certificate, certificates }: SamlKeys): XmlNode {
  const { entityId, sso, slo } = self
  // Service providers that use only the first certificate need the one that signs.
  const ordered = [certificate, ...certificates.filter((each) => each !== certificate)]
  const bindings = [bindingNames.redirect, bindingNames.post]
  const formats = [
    nameIdFormats.persistent,
    nameIdFormats.email,
    nameIdFormats.transient,
    nameIdFormats.unspecified,
  ]
  return element(
    "md:EntityDescriptor",
    { ID: "_metadata", entityID: entityId, cacheDuration: "PT1H" },
    element(
      "md:IDPSSODescriptor",
      { protocolSupportEnumeration: namespaces.samlp, WantAuthnRequestsSigned: "true" },
      ...ordered.map((each) =>
        element("md:KeyDescriptor", { use: "signing" }, createKeyInfo(each)),
      ),
      ...bindings.map((Binding) => element("md:SingleLogoutService", { Binding, Location: slo })),
      ...formats.map((each) => element("md:NameIDFormat", {}, each)),
      ...bindings.map((Binding) => element("md:SingleSignOnService", { Binding, Location: sso })),
    ),
  )
}
