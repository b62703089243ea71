// A simulated identity provider that signs with a library, and deviates as the test requires.
import { constants, createCipheriv, createPublicKey, publicEncrypt, randomBytes } from "node:crypto"
import { inflateRawSync } from "node:zlib"
import { SignedXml } from "xml-crypto"
import { upstreamIssuer } from "../support/upstream.ts"
import { type ProviderKey, pemOf } from "./service-provider.ts"

export const idpEntity = `${upstreamIssuer}/saml/metadata`
const ns =
  'xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" ' +
  'xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion"'
export const exclusive = "http://www.w3.org/2001/10/xml-exc-c14n#"
export const enveloped = "http://www.w3.org/2000/09/xmldsig#enveloped-signature"

/** The metadata of the provider. */
export const idpMetadata = (
  keys: readonly ProviderKey[],
  {
    entityId = idpEntity,
    binding = "HTTP-Redirect",
    attributes = "",
    services = "",
  }: { entityId?: string; binding?: string; attributes?: string; services?: string } = {},
): string =>
  `<md:EntityDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata" entityID="${entityId}">` +
  '<md:IDPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol"' +
  ` ${attributes}>` +
  keys
    .map(
      ({ certificate }) =>
        '<md:KeyDescriptor use="signing">' +
        '<ds:KeyInfo xmlns:ds="http://www.w3.org/2000/09/xmldsig#">' +
        `<ds:X509Data><ds:X509Certificate>${certificate}</ds:X509Certificate></ds:X509Data>` +
        "</ds:KeyInfo></md:KeyDescriptor>",
    )
    .join("") +
  services +
  `<md:SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:${binding}"` +
  ` Location="${upstreamIssuer}/saml/sso"/></md:IDPSSODescriptor></md:EntityDescriptor>`

/** The request as the provider parses it. */
export type SamlRequest = {
  readonly id: string
  readonly issuer: string
  readonly acs: string
  readonly relayState: string
  readonly xml: string
  readonly parameters: URLSearchParams
}

const attributeIn = (xml: string, name: string): string =>
  new RegExp(` ${name}="([^"]*)"`).exec(xml)?.[1] ?? ""

/** Parses a request of the redirect binding. */
export function parseRedirect(url: string): SamlRequest {
  const parameters = new URL(url).searchParams
  const deflated = Buffer.from(parameters.get("SAMLRequest") ?? "", "base64")
  return parseRequest(inflateRawSync(deflated).toString(), parameters)
}

export const parseRequest = (xml: string, parameters: URLSearchParams): SamlRequest => ({
  id: attributeIn(xml, "ID"),
  issuer: />([^<]*)<\/saml:Issuer>/.exec(xml)?.[1] ?? "",
  acs: attributeIn(xml, "AssertionConsumerServiceURL"),
  relayState: parameters.get("RelayState") ?? "",
  xml,
  parameters,
})

/** The values of an assertion that differ from the default. */
export type AssertionOptions = {
  readonly nameId?: string
  readonly format?: string
  readonly attributes?: Readonly<Record<string, string | readonly string[]>>
  readonly audience?: string
  readonly recipient?: string
  readonly inResponseTo?: string | undefined
  readonly confirmedTo?: string | undefined
  readonly destination?: string | undefined
  readonly issuer?: string
  readonly notBefore?: number
  readonly notOnOrAfter?: number
  readonly conditions?: string
  readonly method?: string
  readonly sessionEnds?: number
  readonly status?: string
  readonly assertionId?: string
  /** ms UTC; by default now. */
  readonly authnInstant?: number
}

const bearer = "urn:oasis:names:tc:SAML:2.0:cm:bearer"
const minute = 60_000
const iso = (ms: number) => new Date(ms).toISOString()
const optionalAttribute = (name: string, value: string | undefined) =>
  value === undefined ? "" : ` ${name}="${value}"`

export const ada = {
  Email: "ada@example.com",
  FirstName: "Ada",
  SurName: "Lovelace",
  UserName: "ada",
}

/** An assertion for a request, unsigned. */
export function createAssertion(
  request: SamlRequest,
  now: number,
  options: AssertionOptions = {},
): string {
  const { nameId = "ada-1", attributes = ada, assertionId = "_assertion" } = options
  const format = options.format ?? "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent"
  const begin = iso(options.notBefore ?? now - minute)
  const end = iso(options.notOnOrAfter ?? now + 5 * minute)
  const confirmed = "confirmedTo" in options ? options.confirmedTo : request.id
  const values = Object.entries(attributes).map(
    ([name, value]) =>
      `<saml:Attribute Name="${name}">${[value]
        .flat()
        .map((each) => `<saml:AttributeValue>${each}</saml:AttributeValue>`)
        .join("")}</saml:Attribute>`,
  )
  return (
    `<saml:Assertion ${ns} ID="${assertionId}" Version="2.0" IssueInstant="${iso(now)}">` +
    `<saml:Issuer>${options.issuer ?? idpEntity}</saml:Issuer>` +
    `<saml:Subject><saml:NameID Format="${format}">${nameId}</saml:NameID>` +
    `<saml:SubjectConfirmation Method="${options.method ?? bearer}">` +
    `<saml:SubjectConfirmationData${optionalAttribute("InResponseTo", confirmed)}` +
    ` NotOnOrAfter="${end}" Recipient="${options.recipient ?? request.acs}">` +
    "</saml:SubjectConfirmationData></saml:SubjectConfirmation></saml:Subject>" +
    (options.conditions ??
      `<saml:Conditions NotBefore="${begin}" NotOnOrAfter="${end}"><saml:AudienceRestriction>` +
        `<saml:Audience>${options.audience ?? request.issuer}</saml:Audience>` +
        "</saml:AudienceRestriction></saml:Conditions>") +
    `<saml:AuthnStatement AuthnInstant="${iso(options.authnInstant ?? now)}"` +
    ' SessionIndex="_session1"' +
    (options.sessionEnds === undefined
      ? ">"
      : ` SessionNotOnOrAfter="${iso(options.sessionEnds)}">`) +
    "<saml:AuthnContext><saml:AuthnContextClassRef>" +
    "urn:oasis:names:tc:SAML:2.0:ac:classes:Password</saml:AuthnContextClassRef>" +
    `</saml:AuthnContext></saml:AuthnStatement><saml:AttributeStatement>${values.join("")}` +
    "</saml:AttributeStatement></saml:Assertion>"
  )
}

/** A response with the given content, unsigned. */
export function createResponse(
  request: SamlRequest,
  now: number,
  inside: string,
  options: AssertionOptions = {},
): string {
  const to = "inResponseTo" in options ? options.inResponseTo : request.id
  const destination = "destination" in options ? options.destination : request.acs
  const status = options.status ?? "Success"
  const top = status === "Success" ? status : "Responder"
  const detail =
    status === "Success"
      ? ""
      : `<samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:${status}"></samlp:StatusCode>`
  return (
    `<samlp:Response ${ns} ID="_response" Version="2.0" IssueInstant="${iso(now)}"` +
    `${optionalAttribute("InResponseTo", to)}${optionalAttribute("Destination", destination)}>` +
    `<saml:Issuer>${options.issuer ?? idpEntity}</saml:Issuer><samlp:Status>` +
    `<samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:${top}">${detail}` +
    `</samlp:StatusCode></samlp:Status>${inside}</samlp:Response>`
  )
}

export type SignatureOptions = {
  readonly by: ProviderKey
  /** The local name of the signed element. */
  readonly of?: "Assertion" | "Response" | "LogoutRequest" | "LogoutResponse"
  readonly algorithm?: string
  readonly digest?: string
  readonly transforms?: readonly string[]
}

/** Signs an element as other implementations do, after its Issuer. */
export function signXml(xml: string, signing: SignatureOptions): string {
  const { by, of = "Assertion", transforms = [enveloped, exclusive] } = signing
  const sig = new SignedXml({
    privateKey: by.privatePem,
    publicCert: pemOf(by.certificate),
    signatureAlgorithm: signing.algorithm ?? "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256",
    canonicalizationAlgorithm: exclusive,
  })
  const where = `//*[local-name()='${of}']`
  sig.addReference({
    xpath: where,
    digestAlgorithm: signing.digest ?? "http://www.w3.org/2001/04/xmlenc#sha256",
    transforms: [...transforms],
  })
  sig.computeSignature(xml, {
    location: { reference: `${where}/*[local-name()='Issuer']`, action: "after" },
  })
  return sig.getSignedXml()
}

/** Encrypts an assertion as other implementations do (XML Encryption 1.1). */
export function encryptXml(
  xml: string,
  certificate: string,
  { cipher = "aes-256-gcm", padding = "oaep" }: { cipher?: string; padding?: string } = {},
): string {
  const secret = randomBytes(32)
  const isGcm = cipher.endsWith("gcm")
  const iv = randomBytes(isGcm ? 12 : 16)
  const sealed = isGcm ? sealGcm(xml, secret, iv) : sealCbc(xml, secret, iv)
  const key = createPublicKey(pemOf(certificate))
  const isOaep = padding === "oaep"
  const wrapped = publicEncrypt(
    isOaep
      ? { key, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: "sha1" }
      : { key, padding: constants.RSA_PKCS1_PADDING },
    secret,
  )
  const method = isGcm
    ? "http://www.w3.org/2009/xmlenc11#aes256-gcm"
    : "http://www.w3.org/2001/04/xmlenc#aes256-cbc"
  const transport = isOaep ? "rsa-oaep-mgf1p" : "rsa-1_5"
  return (
    '<saml:EncryptedAssertion xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion">' +
    '<xenc:EncryptedData xmlns:xenc="http://www.w3.org/2001/04/xmlenc#" ' +
    'Type="http://www.w3.org/2001/04/xmlenc#Element">' +
    `<xenc:EncryptionMethod Algorithm="${method}"></xenc:EncryptionMethod>` +
    '<ds:KeyInfo xmlns:ds="http://www.w3.org/2000/09/xmldsig#"><xenc:EncryptedKey>' +
    `<xenc:EncryptionMethod Algorithm="http://www.w3.org/2001/04/xmlenc#${transport}">` +
    "</xenc:EncryptionMethod><xenc:CipherData><xenc:CipherValue>" +
    `${wrapped.toString("base64")}</xenc:CipherValue></xenc:CipherData></xenc:EncryptedKey>` +
    "</ds:KeyInfo><xenc:CipherData><xenc:CipherValue>" +
    `${Buffer.concat([iv, ...sealed]).toString("base64")}</xenc:CipherValue></xenc:CipherData>` +
    "</xenc:EncryptedData></saml:EncryptedAssertion>"
  )
}

function sealGcm(xml: string, secret: Buffer, iv: Buffer): readonly Buffer[] {
  const cipher = createCipheriv("aes-256-gcm", secret, iv)
  const body = [cipher.update(xml, "utf8"), cipher.final()]
  return [...body, cipher.getAuthTag()]
}

function sealCbc(xml: string, secret: Buffer, iv: Buffer): readonly Buffer[] {
  const cipher = createCipheriv("aes-256-cbc", secret, iv)
  return [cipher.update(xml, "utf8"), cipher.final()]
}

/** A logout message, unsigned. */
export function createLogoutMessage(
  name: "LogoutRequest" | "LogoutResponse",
  { attributes, inside, now }: { attributes: Record<string, string>; inside: string; now: number },
): string {
  const all = { ID: "_logout1", Version: "2.0", IssueInstant: iso(now), ...attributes }
  const written = Object.entries(all).map(([key, value]) => ` ${key}="${value}"`)
  return (
    `<samlp:${name} ${ns}${written.join("")}><saml:Issuer>${idpEntity}</saml:Issuer>` +
    `${inside}</samlp:${name}>`
  )
}
