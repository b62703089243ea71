// One identity provider of each kind, in the form of the v1 operations.
import { generateKeyPairSync } from "node:crypto"

const client = { clientId: "client", clientSecret: "s3cret" }
const endpoints = {
  authorizationEndpoint: "https://idp.example.com/authorize",
  tokenEndpoint: "https://idp.example.com/token",
  userEndpoint: "https://idp.example.com/user",
}
const issuer = "https://idp.example.com"
const { privateKey } = generateKeyPairSync("ec", {
  namedCurve: "P-256",
  publicKeyEncoding: { type: "spki", format: "pem" },
  privateKeyEncoding: { type: "pkcs8", format: "pem" },
})
const apple = {
  clientId: "com.example.app",
  teamId: "TEAM123456",
  keyId: "KEY1234567",
  privateKey: Buffer.from(privateKey).toString("base64"),
}
const jwt = {
  issuer,
  jwtEndpoint: "https://idp.example.com/jwt",
  keysEndpoint: "https://idp.example.com/keys",
  headerName: "x-user-token",
}

const directory = {
  servers: ["ldaps://ldap.example.com"],
  baseDn: "dc=example,dc=com",
  bindDn: "cn=admin,dc=example,dc=com",
  bindPassword: "s3cret",
  userBase: "dn",
  userObjectClasses: ["person"],
  userFilters: ["uid"],
}

/** Its key was discarded. */
const certificate =
  "MIIDFTCCAf2gAwIBAgIUC09w+GGPw9ka7K9dS6jqMOfrtYEwDQYJKoZIhvcNAQELBQAwGjEYMBYGA1UEAwwPaWRwLmV4" +
  "YW1wbGUuY29tMB4XDTI2MTEyMzA4NDMyNFoXDTM2MTEyMDA4NDMyNFowGjEYMBYGA1UEAwwPaWRwLmV4YW1wbGUuY29t" +
  "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAmt4INjS17rKb0TxXW1joAzMKmDNxJHoyhBiusFDDm/z5ZTOy" +
  "BFP+hqTOmY0KpHKsMHqrM7tKB6rKQrX8SqlDqq2CjdG1dpQ2Bc1jSGmarzTAI8VE06pF5QHcKLOxV4lySiccvdYa5s+2" +
  "8vDiDriEHXT3jJkEsJrz4v831BST73nrMD9lCLGQAkM9Lz4nMG23g46IRL+ViRBXsRKnIo9uVUNYNcxDxMP7uoP3Va32" +
  "y14dYvOIOlqkHSrnakaeRIM+smMEzSD+q1kAkAUXe37upB/UAwFk6lcUmuWl9lhVlgVvNvH6aJjrowq9FnnmyPMjwFlo" +
  "YtLoiIM3vNonl4RY6wIDAQABo1MwUTAdBgNVHQ4EFgQUWv3okqWhF+jAWuUFgrZ9y3pv7qYwHwYDVR0jBBgwFoAUWv3o" +
  "kqWhF+jAWuUFgrZ9y3pv7qYwDwYDVR0TAQH/BAUwAwEB/zANBgkqhkiG9w0BAQsFAAOCAQEAQH7b7YsBpRyvwE/ZSvPi" +
  "Z4G+1umIbDriCw8ioG1v2R/0LNrNaYnKXwW12KsaFn/arnM2r/BTy/XzmZZmbKEtd46mWf2lasOkDPdfGYHTL7ecDHoZ" +
  "Oy4Wf/bijYZ/L/EjegWLSEz8XkhRKjid1q2tqe0XrBJe5LUq9zVR61+TQrufRB0K6ip4uji/z2WpFuo8rUDIiyCgcLX2" +
  "NhuhbwlUQ2glFudhtiDLvU/rNvWuUqCQkg1wlD6e318Py/FZCQTOLEOZYNzyaxgg5C9tNpshb6cr/4kLX5VyIxf84ESi" +
  "Y66T4w96ejR5RgQJrc3Q6Krm0qCnRFR5xXWTPWSHYu+zhQ=="

const samlMetadata =
  '<md:EntityDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata"' +
  ' entityID="https://idp.example.com/saml"><md:IDPSSODescriptor' +
  ' protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol"><md:KeyDescriptor>' +
  '<ds:KeyInfo xmlns:ds="http://www.w3.org/2000/09/xmldsig#"><ds:X509Data><ds:X509Certificate>' +
  `${certificate}</ds:X509Certificate></ds:X509Data></ds:KeyInfo></md:KeyDescriptor>` +
  '<md:SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect"' +
  ' Location="https://idp.example.com/sso"/></md:IDPSSODescriptor></md:EntityDescriptor>'

/** `name` is used in operations, `event` in events; `body` has the kind's settings. */
export type IdpForm = {
  readonly name: string
  readonly event: string
  readonly body: Readonly<Record<string, string | string[]>>
}

export const idpForms: readonly IdpForm[] = [
  {
    name: "GenericOAuth",
    event: "oauth",
    body: { name: "OAuth", ...client, ...endpoints, idAttribute: "id" },
  },
  { name: "GenericOIDC", event: "oidc", body: { name: "OpenID", issuer, ...client } },
  { name: "JWT", event: "jwt", body: { name: "JWT", ...jwt } },
  { name: "LDAP", event: "ldap", body: { name: "Directory", ...directory } },
  {
    name: "SAML",
    event: "saml",
    body: { name: "SAML", metadataXml: Buffer.from(samlMetadata).toString("base64") },
  },
  { name: "AzureAD", event: "azure", body: client },
  { name: "GitHub", event: "github", body: client },
  {
    name: "GitHubEnterpriseServer",
    event: "github_enterprise",
    body: { name: "GitHub of ours", ...client, ...endpoints },
  },
  { name: "GitLab", event: "gitlab", body: client },
  {
    name: "GitLabSelfHosted",
    event: "gitlab_self_hosted",
    body: { name: "GitLab of ours", issuer, ...client },
  },
  { name: "Google", event: "google", body: client },
  { name: "Apple", event: "apple", body: apple },
]

export const vendorBody = client
