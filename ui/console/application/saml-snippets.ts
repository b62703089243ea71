import type { Snippet } from "./snippet.ts"

/** Values from the application's metadata, and the URL of this server's metadata. */
export type SamlDescription = {
  readonly entityId: string
  /** The assertion consumer service URLs. */
  readonly consumers: readonly string[]
  /** URL of this server's metadata. */
  readonly metadata: string
  /** The attribute with the user's roles; empty if none. */
  readonly rolesAttribute: string
}

/** Snippets for software that supports SAML. */
export const samlSnippets = (described: SamlDescription): readonly Snippet[] => [apache(described)]

/** The directory of the module's files. */
export const mellonDirectory = "/etc/apache2/saml"

/** Without TLS, browsers reject the SameSite=None cookies of the module. */
const withoutTls = `
# Without TLS, for tries on one machine alone:
SetEnvIf Host "." MELLON_DISABLE_SAMESITE=1`

/** A comment in the snippet, because the administrator decides which users to admit. */
const roleCondition = (rolesAttribute: string): string => `
  # Only users with this role of the project:
  # MellonCond "${rolesAttribute.replaceAll('"', "")}" "ROLE"`

/** The module's endpoint path is the parent of its consumer path: /mellon/postResponse. */
function apache({ entityId, consumers, metadata, rolesAttribute }: SamlDescription): Snippet {
  const consumer = consumers.find((each) => each.endsWith("/postResponse")) ?? consumers[0] ?? ""
  const endpoint = consumer.replace(/\/[^/]*$/, "")
  const path = URL.canParse(endpoint) ? new URL(endpoint).pathname : "/mellon"
  // Named as mellon_create_metadata does.
  const file = entityId.replaceAll(/[^0-9A-Za-z.]+/g, "_")
  const settings = [
    ["MellonEndpointPath", path],
    ["MellonSPPrivateKeyFile", `${mellonDirectory}/${file}.key`],
    ["MellonSPCertFile", `${mellonDirectory}/${file}.cert`],
    ["MellonSPMetadataFile", `${mellonDirectory}/${file}.xml`],
    ["MellonIdPMetadataFile", `${mellonDirectory}/idp-metadata.xml`],
    ["MellonUser", "UserName"],
    // The response is posted from another site, so the cookies require TLS.
    ...(consumer.startsWith("https:")
      ? ([
          ["MellonSecureCookie", "On"],
          ["MellonCookieSameSite", "None"],
        ] as const)
      : []),
  ] as const
  const text = `# Apache with mod_auth_mellon. Its files are made once, in ${mellonDirectory}:
#   mellon_create_metadata ${entityId} ${endpoint}
#   curl -o idp-metadata.xml ${metadata}
<Location "/">
${settings.map(([name, value]) => `  ${name} "${value.replaceAll('"', "")}"`).join("\n")}
  MellonEnable info
</Location>${consumer.startsWith("https:") ? "" : withoutTls}

<Location "/protected">
  AuthType Mellon
  MellonEnable auth
  Require valid-user${rolesAttribute && roleCondition(rolesAttribute)}
</Location>`
  return { name: "Apache", text }
}
