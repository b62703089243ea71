/** Namespaces of SAML 2.0 and of what it stands on, by the prefixes that we write. */
export const namespaces = {
  ds: "http://www.w3.org/2000/09/xmldsig#",
  md: "urn:oasis:names:tc:SAML:2.0:metadata",
  saml: "urn:oasis:names:tc:SAML:2.0:assertion",
  samlp: "urn:oasis:names:tc:SAML:2.0:protocol",
  xenc: "http://www.w3.org/2001/04/xmlenc#",
  xenc11: "http://www.w3.org/2009/xmlenc11#",
} as const

export type Prefix = keyof typeof namespaces

/** SAML Bindings §3.4 and §3.5: through the browser, in an address or in a form. */
export type Binding = "redirect" | "post"

export const bindingNames: Readonly<Record<Binding, string>> = {
  redirect: "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect",
  post: "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST",
}

/** The binding of a name; undefined for those that we don't speak. */
export const bindingOf = (name: string | null | undefined): Binding | undefined =>
  name === bindingNames.post ? "post" : name === bindingNames.redirect ? "redirect" : undefined

/** SAML Core §8.3: what kind of name somebody goes by. */
export const nameIdFormats = {
  unspecified: "urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified",
  email: "urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress",
  persistent: "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent",
  transient: "urn:oasis:names:tc:SAML:2.0:nameid-format:transient",
} as const

export type NameIdFormat = keyof typeof nameIdFormats

const formatList: readonly NameIdFormat[] = ["unspecified", "email", "persistent", "transient"]

/** Names that no specification has, and many service providers ask for. */
const otherFormats: ReadonlyMap<string, NameIdFormat> = new Map([
  ["urn:oasis:names:tc:SAML:2.0:nameid-format:unspecified", "unspecified"],
  ["urn:oasis:names:tc:SAML:2.0:nameid-format:emailAddress", "email"],
])

/** The format of a name; undefined for those that we don't have. */
export const nameIdFormatOf = (name: string): NameIdFormat | undefined =>
  formatList.find((format) => nameIdFormats[format] === name) ?? otherFormats.get(name)

/** SAML Core §3.2.2.2. */
export const statuses = {
  success: "urn:oasis:names:tc:SAML:2.0:status:Success",
  requester: "urn:oasis:names:tc:SAML:2.0:status:Requester",
  responder: "urn:oasis:names:tc:SAML:2.0:status:Responder",
  versionMismatch: "urn:oasis:names:tc:SAML:2.0:status:VersionMismatch",
  authnFailed: "urn:oasis:names:tc:SAML:2.0:status:AuthnFailed",
  invalidAttr: "urn:oasis:names:tc:SAML:2.0:status:InvalidAttrNameOrValue",
  invalidNameIdPolicy: "urn:oasis:names:tc:SAML:2.0:status:InvalidNameIDPolicy",
  noAuthnContext: "urn:oasis:names:tc:SAML:2.0:status:NoAuthnContext",
  noPassive: "urn:oasis:names:tc:SAML:2.0:status:NoPassive",
  partialLogout: "urn:oasis:names:tc:SAML:2.0:status:PartialLogout",
  requestDenied: "urn:oasis:names:tc:SAML:2.0:status:RequestDenied",
  requestUnsupported: "urn:oasis:names:tc:SAML:2.0:status:RequestUnsupported",
  unknownPrincipal: "urn:oasis:names:tc:SAML:2.0:status:UnknownPrincipal",
  unsupportedBinding: "urn:oasis:names:tc:SAML:2.0:status:UnsupportedBinding",
} as const

export type Status = keyof typeof statuses

/** Algorithms that signatures may have; SHA-1 is none of them. */
export const signatureAlgorithms = {
  "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256": "sha256",
  "http://www.w3.org/2001/04/xmldsig-more#rsa-sha512": "sha512",
} as const

/** What a signature of an address is made with. */
export type AddressAlgorithm = { readonly key: "rsa" | "ec"; readonly hash: string }

/** Algorithms that signatures of addresses may have (SAML Bindings §3.4.4.1, RFC 9231 §2.3). */
export const addressAlgorithms: ReadonlyMap<string, AddressAlgorithm> = new Map(
  (["rsa", "ec"] as const).flatMap((key) =>
    ["sha256", "sha384", "sha512"].map((hash) => [
      `http://www.w3.org/2001/04/xmldsig-more#${key === "ec" ? "ecdsa" : "rsa"}-${hash}`,
      { key, hash },
    ]),
  ),
)

/** What our own signatures are made with. */
export type Hash = "sha256" | "sha512"

/** RSASSA-PKCS1-v1_5 with each of them, and each by itself. */
export const signatureNames: Readonly<Record<Hash, string>> = {
  sha256: "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256",
  sha512: "http://www.w3.org/2001/04/xmldsig-more#rsa-sha512",
}
export const digestNames: Readonly<Record<Hash, string>> = {
  sha256: "http://www.w3.org/2001/04/xmlenc#sha256",
  sha512: "http://www.w3.org/2001/04/xmlenc#sha512",
}
/** The same the other way: the hash of a digest's algorithm; SHA-1 is none. */
export const digestHashes: ReadonlyMap<string, Hash> = new Map([
  [digestNames.sha256, "sha256"],
  [digestNames.sha512, "sha512"],
])
export const exclusiveC14n = "http://www.w3.org/2001/10/xml-exc-c14n#"
export const enveloped = "http://www.w3.org/2000/09/xmldsig#enveloped-signature"

/** Whether a text names an algorithm that signatures may have. */
export const isSignatureAlgorithm = (name: string): name is keyof typeof signatureAlgorithms =>
  Object.hasOwn(signatureAlgorithms, name)
