import type { Cx } from "../../../store/index.ts"
import { bindingNames, nameIdFormats, namespaces } from "../../../xml/names.ts"
import { keyInfo } from "../../../xml/sign.ts"
import { element, write } from "../../../xml/write.ts"
import { requireInstance } from "../../instance/index.ts"
import type { Found } from "../commands.ts"
import { keptProvider, samlOf } from "./known.ts"
import { certificateOf } from "./pair.ts"

/** What providers that speak SAML have addresses for: each provider its own. */
export type SamlPart = "metadata" | "acs" | "start" | "slo"

/** The provider whose own address a path is; undefined where that can't be the id of one. */
export const providerIn = (path: string): string | undefined =>
  /^\/idps\/(\d{1,20})\//.exec(path)?.[1]

/** What a provider knows us by, and where it sends what is for us. */
export type SamlSelf = {
  readonly entityId: string
  readonly acs: string
  readonly start: string
  readonly slo: string
}

/**
 * Made of the configured public address. Each provider has us by another name, so that what one of
 * them says is never for what another one vouches for.
 */
export function samlSelf(cx: Cx, id: string): SamlSelf {
  const at = (part: SamlPart) => `${requireInstance(cx).publicUrl}/idps/${id}/saml/${part}`
  return { entityId: at("metadata"), acs: at("acs"), start: at("start"), slo: at("slo") }
}

/** Ciphers that we read, best first; see `decrypted`. */
const encryptionMethods = [
  "http://www.w3.org/2009/xmlenc11#aes256-gcm",
  "http://www.w3.org/2009/xmlenc11#aes128-gcm",
  "http://www.w3.org/2001/04/xmlenc#rsa-oaep-mgf1p",
]

/** SAML Metadata §2.4.4: what a provider is to know of us. */
export async function samlMetadata(cx: Cx, found: Found): Promise<string> {
  const { entityId, acs, slo } = samlSelf(cx, found.idp.id)
  const settings = samlOf(found)
  // AD FS and others encrypt for every key that is published for it.
  const { encryptAssertions: isEncrypted = true } = found.idp.options
  const { wantsSigned } = await keptProvider(cx, found)
  const key = keyInfo(certificateOf(cx, found))
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
  return `<?xml version="1.0" encoding="UTF-8"?>\n${write(document)}`
}
