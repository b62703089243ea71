// One identity provider of each kind, as the operations of v1 say it.
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
  ...{ servers: ["ldaps://ldap.example.com"], baseDn: "dc=example,dc=com" },
  ...{ bindDn: "cn=admin,dc=example,dc=com", bindPassword: "s3cret", userBase: "dn" },
  ...{ userObjectClasses: ["person"], userFilters: ["uid"] },
}

/** `name` is that in operations, `event` that in events; `body` has what the kind needs. */
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
