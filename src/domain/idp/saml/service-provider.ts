import type { Cx } from "../../../store/index.ts"
import { bindingNames, nameIdFormats, namespaces } from "../../../xml/names.ts"
import { createKeyInfo } from "../../../xml/sign.ts"
import { element, serialize } from "../../../xml/write.ts"
import { requireInstance } from "../../instance/index.ts"
import type { OwnedIdp } from "../commands.ts"
import { certificateOf } from "./key-pair.ts"
import { samlOf, storedProvider } from "./refresh.ts"

/** Endpoints for SAML providers; each provider has its own. */
export type SamlEndpoint = "metadata" | "acs" | "start" | "slo"

/** The provider ID in an endpoint path, or undefined. */
export const providerIdOfPath = (path: string): string | undefined =>
  /^\/idps\/(\d{1,20})\//.exec(path)?.[1]

/** This server's entity ID and endpoints for one provider. */
export type ServiceProvider = {
  readonly entityId: string
  readonly acs: string
  readonly start: string
  readonly slo: string
}

/**
 * Derived from the configured public URL. Each provider has a separate entity ID, so that an
 * assertion for one can't be used for another.
 */
export function serviceProviderFor(cx: Cx, id: string): ServiceProvider {
  const at = (part: SamlEndpoint) => `${requireInstance(cx).publicUrl}/idps/${id}/saml/${part}`
  return { entityId: at("metadata"), acs: at("acs"), start: at("start"), slo: at("slo") }
}

/** Supported ciphers, in order of preference; see `decrypted`. */
const encryptionMethods = [
  "http://www.w3.org/2009/xmlenc11#aes256-gcm",
  "http://www.w3.org/2009/xmlenc11#aes128-gcm",
  "http://www.w3.org/2001/04/xmlenc#rsa-oaep-mgf1p",
]

/** SAML Metadata §2.4.4: the service provider metadata for one provider. */
export async function createMetadata(cx: Cx, ownedIdp: OwnedIdp): Promise<string> {
  const { entityId, acs, slo } = serviceProviderFor(cx, ownedIdp.idp.id)
  const settings = samlOf(ownedIdp)
  // AD FS and others encrypt whenever a key is published.
  const { encryptAssertions: isEncrypted = true } = ownedIdp.idp.options
  const { wantsSigned } = await storedProvider(cx, ownedIdp)
  const key = createKeyInfo(certificateOf(cx, ownedIdp))
  const methods = encryptionMethods.map((Algorithm) =>
    element("md:EncryptionMethod", { Algorithm }),
  )
  const logout = [bindingNames.redirect, bindingNames.post].map((Binding) =>
    element("md:SingleLogoutService", { Binding, Location: slo }),
  )
  const document = element(
    "md:EntityDescriptor",
    { entityID: entityId },
    element(
      "md:SPSSODescriptor",
      {
        protocolSupportEnumeration: namespaces.samlp,
        AuthnRequestsSigned: String(settings.withSignedRequest || wantsSigned),
        WantAssertionsSigned: "true",
      },
      element("md:KeyDescriptor", { use: "signing" }, key),
      ...(isEncrypted ? [element("md:KeyDescriptor", { use: "encryption" }, key, ...methods)] : []),
      ...(settings.federatedLogout ? logout : []),
      element("md:NameIDFormat", {}, nameIdFormats[settings.nameIdFormat]),
      element("md:AssertionConsumerService", {
        Binding: bindingNames.post,
        Location: acs,
        index: "0",
        isDefault: "true",
      }),
    ),
  )
  return `<?xml version="1.0" encoding="UTF-8"?>\n${serialize(document)}`
}
