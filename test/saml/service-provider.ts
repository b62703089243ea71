import { createPrivateKey } from "node:crypto"
import { SAML, type SamlConfig } from "@node-saml/node-saml"
import { createApplication } from "../../src/domain/app/commands.ts"
import { parseMetadata } from "../../src/domain/app/saml/metadata.ts"
import { createCertifiedPair } from "../../src/domain/key/saml/certificate.ts"
import { systemRandom } from "../../src/kernel/crypto/random.ts"
import { issuer, openProvider, type Provider } from "../oauth/provider.ts"

export const spId = "https://sp.example.com/metadata"
export const acsUrl = "https://sp.example.com/acs"
export const sloUrl = "https://sp.example.com/slo"
export const idpId = `${issuer}/saml/v2/metadata`

/** A service provider's key, in the required formats. */
export type ProviderKey = {
  readonly certificate: string
  readonly privatePem: string
}

export async function createKey(): Promise<ProviderKey> {
  const now = Date.now()
  const { certificate, privateKey } = await createCertifiedPair(systemRandom, {
    name: "sp.example.com",
    from: now - 60_000,
    to: now + 86_400_000,
  })
  const key = createPrivateKey({
    key: Buffer.from(privateKey, "base64"),
    format: "der",
    type: "pkcs8",
  })
  return { certificate, privatePem: key.export({ format: "pem", type: "pkcs8" }).toString() }
}

export const pemOf = (certificate: string): string =>
  ["BEGIN CERTIFICATE", ...(certificate.match(/.{1,64}/g) ?? []), "END CERTIFICATE", ""]
    .map((line) => line.replace(/^(BEGIN|END) .*/, "-----$&-----"))
    .join("\n")

/** The differences between the tests' service providers. */
export type ServiceProviderOptions = {
  readonly entityId?: string
  readonly signing?: string
  readonly encryption?: string
  readonly encryptionMethod?: string
  readonly signsRequests?: boolean
  readonly formats?: readonly string[]
  readonly consumers?: string
  readonly logout?: string
  /** The URL of a custom login page. */
  readonly loginAt?: string
}

const keyDescriptor = (use: string, certificate: string | undefined, inside = "") =>
  certificate === undefined
    ? ""
    : `<md:KeyDescriptor use="${use}"><ds:KeyInfo xmlns:ds="http://www.w3.org/2000/09/xmldsig#">
       <ds:X509Data><ds:X509Certificate>${certificate}</ds:X509Certificate></ds:X509Data>
       </ds:KeyInfo>${inside}</md:KeyDescriptor>`

/** The metadata of a service provider. */
export function metadataOf(described: ServiceProviderOptions = {}): string {
  const { entityId = spId, signing, encryption, encryptionMethod, formats = [] } = described
  const method = encryptionMethod ? `<md:EncryptionMethod Algorithm="${encryptionMethod}"/>` : ""
  const consumers =
    described.consumers ??
    `<md:AssertionConsumerService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST"
       Location="${acsUrl}" index="0" isDefault="true"/>`
  const logout =
    described.logout ??
    `<md:SingleLogoutService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect"
       Location="${sloUrl}"/>`
  const signs = described.signsRequests ?? false
  return `<md:EntityDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata"
    entityID="${entityId}"><md:SPSSODescriptor AuthnRequestsSigned="${signs}"
    protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol">
    ${keyDescriptor("signing", signing)}${keyDescriptor("encryption", encryption, method)}
    ${logout}${formats.map((each) => `<md:NameIDFormat>${each}</md:NameIDFormat>`).join("")}
    ${consumers}</md:SPSSODescriptor></md:EntityDescriptor>`
}

/** A provider with the real clock, because the peers check theirs. */
export async function openSamlProvider(): Promise<Provider> {
  const provider = await openProvider()
  provider.clock.advance(Date.now() - provider.clock.now())
  return provider
}

/** Registers a service provider; returns the application's ID. */
export async function addServiceProvider(
  provider: Provider,
  described: ServiceProviderOptions = {},
  { projectId = provider.projectId } = {},
): Promise<string> {
  const cx = provider.cx()
  const appId = cx.ids.next()
  const metadata = await parseMetadata(Buffer.from(metadataOf(described)), cx.clock.now())
  const { loginAt } = described
  const loginVersion =
    loginAt === undefined
      ? ({ version: "unspecified" } as const)
      : ({ version: "v2", baseUri: loginAt } as const)
  await createApplication(cx, appId, {
    projectId,
    name: "Example SP",
    config: { kind: "saml", saml: { ...metadata, metadataUrl: "", loginVersion } },
  })
  return appId
}

/** A third-party service provider, configured from our metadata. */
export async function nodeSaml(
  provider: Provider,
  changes: Partial<SamlConfig> = {},
): Promise<SAML> {
  const idpCert = await (await provider.send("/saml/v2/certificate")).text()
  return new SAML({
    callbackUrl: acsUrl,
    entryPoint: `${issuer}/saml/v2/SSO`,
    issuer: spId,
    idpCert,
    audience: spId,
    idpIssuer: idpId,
    wantAuthnResponseSigned: true,
    wantAssertionsSigned: true,
    acceptedClockSkewMs: 5000,
    identifierFormat: null,
    logoutUrl: `${issuer}/saml/v2/SLO`,
    disableRequestedAuthnContext: true,
    ...changes,
  })
}

/** The fields of a page that posts itself. */
export const postedFields = (page: string): Record<string, string> =>
  Object.fromEntries(
    [...page.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g)].map(
      ([, name = "", value = ""]) => [name, value.replaceAll("&amp;", "&")],
    ),
  )

/** The message that a page posts, as XML. */
export const messageIn = (page: string): string =>
  Buffer.from(postedFields(page).SAMLResponse ?? "", "base64").toString()

/** The path of a URL of ours. */
export const pathOf = (address: string): string => address.slice(issuer.length)
