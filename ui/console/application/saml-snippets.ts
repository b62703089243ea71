import type { Snippet } from "./snippet.ts"

/** What the metadata of an application says, and where ours is. */
export type SamlDescription = {
  readonly entityId: string
  /** Where it takes answers. */
  readonly consumers: readonly string[]
  /** The address of our metadata. */
  readonly metadata: string
  /** The attribute that contains the roles of users; empty for none. */
  readonly rolesAttribute: string
}

/** Settings to copy, for software that speaks SAML. */
export const samlSnippets = (described: SamlDescription): readonly Snippet[] => [apache(described)]

/** The folder that the files of the module are in. */
export const mellonFolder = "/etc/apache2/saml"

/** Browsers refuse the mark that the module gives its cookies for other sites. */
const withoutTls = `
# Without TLS, for tries on one machine alone:
SetEnvIf Host "." MELLON_DISABLE_SAMESITE=1`

/** Whom the module lets in is an affair of its administrator, so that the line is a comment. */
const conditionOn = (rolesAttribute: string): string => `
  # Only users with this role of the project:
  # MellonCond "${rolesAttribute.replaceAll('"', "")}" "ROLE"`

/** The module names its address after where it takes answers: /mellon/postResponse. */
function apache({ entityId, consumers, metadata, rolesAttribute }: SamlDescription): Snippet {
  const consumer = consumers.find((each) => each.endsWith("/postResponse")) ?? consumers[0] ?? ""
  const endpoint = consumer.replace(/\/[^/]*$/, "")
  const path = URL.canParse(endpoint) ? new URL(endpoint).pathname : "/mellon"
  // As mellon_create_metadata names what it makes.
  const file = entityId.replaceAll(/[^0-9A-Za-z.]+/g, "_")
  const settings = [
    ["MellonEndpointPath", path],
    ["MellonSPPrivateKeyFile", `${mellonFolder}/${file}.key`],
    ["MellonSPCertFile", `${mellonFolder}/${file}.cert`],
    ["MellonSPMetadataFile", `${mellonFolder}/${file}.xml`],
    ["MellonIdPMetadataFile", `${mellonFolder}/idp-metadata.xml`],
    ["MellonUser", "UserName"],
    // The answer is posted from another site, and cookies come along with TLS alone.
    ...(consumer.startsWith("https:")
      ? ([
          ["MellonSecureCookie", "On"],
          ["MellonCookieSameSite", "None"],
        ] as const)
      : []),
  ] as const
  const text = `# Apache with mod_auth_mellon. Its files are made once, in ${mellonFolder}:
#   mellon_create_metadata ${entityId} ${endpoint}
#   curl -o idp-metadata.xml ${metadata}
<Location "/">
${settings.map(([name, value]) => `  ${name} "${value.replaceAll('"', "")}"`).join("\n")}
  MellonEnable info
</Location>${consumer.startsWith("https:") ? "" : withoutTls}

<Location "/protected">
  AuthType Mellon
  MellonEnable auth
  Require valid-user${rolesAttribute && conditionOn(rolesAttribute)}
</Location>`
  return { name: "Apache", text }
}
