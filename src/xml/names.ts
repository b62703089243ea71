/** Namespaces of SAML 2.0 and its base standards, by the prefixes that we write. */
export const namespaces = {
  ds: "http://www.w3.org/2000/09/xmldsig#",
  md: "urn:oasis:names:tc:SAML:2.0:metadata",
  saml: "urn:oasis:names:tc:SAML:2.0:assertion",
  samlp: "urn:oasis:names:tc:SAML:2.0:protocol",
  xenc: "http://www.w3.org/2001/04/xmlenc#",
  xenc11: "http://www.w3.org/2009/xmlenc11#",
} as const

export type Prefix = keyof typeof namespaces

/** SAML Bindings §3.4 and §3.5: through the browser, in a redirect URL or a form. */
export type Binding = "redirect" | "post"

export const bindingNames: Readonly<Record<Binding, string>> = {
  redirect: "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect",
  post: "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST",
}

/** The binding for a URI; undefined for unsupported ones. */
export const bindingOf = (name: string | null | undefined): Binding | undefined =>
  name === bindingNames.post ? "post" : name === bindingNames.redirect ? "redirect" : undefined

/** SAML Core §8.3: name ID formats. */
export const nameIdFormats = {
  unspecified: "urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified",
  email: "urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress",
  persistent: "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent",
  transient: "urn:oasis:names:tc:SAML:2.0:nameid-format:transient",
} as const

export type NameIdFormat = keyof typeof nameIdFormats

const formatList: readonly NameIdFormat[] = ["unspecified", "email", "persistent", "transient"]

/** Nonstandard URIs that many service providers request. */
const nonstandardFormats: ReadonlyMap<string, NameIdFormat> = new Map([
  ["urn:oasis:names:tc:SAML:2.0:nameid-format:unspecified", "unspecified"],
  ["urn:oasis:names:tc:SAML:2.0:nameid-format:emailAddress", "email"],
])

/** The format for a URI; undefined for unsupported ones. */
export const nameIdFormatOf = (name: string): NameIdFormat | undefined =>
  formatList.find((format) => nameIdFormats[format] === name) ?? nonstandardFormats.get(name)

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

/** Supported signature algorithms, without SHA-1. */
export const signatureAlgorithms = {
  "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256": "sha256",
  "http://www.w3.org/2001/04/xmldsig-more#rsa-sha512": "sha512",
} as const

/** The algorithm of a redirect URL's signature. */
export type AddressAlgorithm = { readonly key: "rsa" | "ec"; readonly hash: string }

/** Supported algorithms for signed redirect URLs (SAML Bindings §3.4.4.1, RFC 9231 §2.3). */
export const addressAlgorithms: ReadonlyMap<string, AddressAlgorithm> = new Map(
  (["rsa", "ec"] as const).flatMap((key) =>
    ["sha256", "sha384", "sha512"].map((hash) => [
      `http://www.w3.org/2001/04/xmldsig-more#${key === "ec" ? "ecdsa" : "rsa"}-${hash}`,
      { key, hash },
    ]),
  ),
)

/** The hash functions of our own signatures. */
export type Hash = "sha256" | "sha512"

/** The URIs of RSASSA-PKCS1-v1_5 with each hash, and of the hash alone. */
export const signatureNames: Readonly<Record<Hash, string>> = {
  sha256: "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256",
  sha512: "http://www.w3.org/2001/04/xmldsig-more#rsa-sha512",
}
export const digestNames: Readonly<Record<Hash, string>> = {
  sha256: "http://www.w3.org/2001/04/xmlenc#sha256",
  sha512: "http://www.w3.org/2001/04/xmlenc#sha512",
}
/** The hash of a digest algorithm's URI, without SHA-1. */
export const digestHashes: ReadonlyMap<string, Hash> = new Map([
  [digestNames.sha256, "sha256"],
  [digestNames.sha512, "sha512"],
])
export const exclusiveC14n = "http://www.w3.org/2001/10/xml-exc-c14n#"
export const envelopedTransform = "http://www.w3.org/2000/09/xmldsig#enveloped-signature"

/** Whether a text is the URI of a supported signature algorithm. */
export const isSignatureAlgorithm = (name: string): name is keyof typeof signatureAlgorithms =>
  Object.hasOwn(signatureAlgorithms, name)
