/** The LDAP server of a URL such as ldaps://ldap.example.com. */
export type DirectoryServer = {
  /** A name, or an address without brackets. */
  readonly host: string
  readonly port: number
  /** Whether TLS starts with the connection (ldaps://). */
  readonly isSecure: boolean
}

/** Parses the URL of an LDAP server (RFC 4516 §2, only host and port); undefined if invalid. */
export function parseLdapUrl(text: string): DirectoryServer | undefined {
  const [, scheme = "", portText = "", port = ""] =
    /^(ldaps?):\/\/(\[[\da-f:.]+\]|[\w.-]+)(?::(\d{1,5}))?\/?$/i.exec(text) ?? []
  if (scheme === "") return undefined
  const isSecure = scheme.toLowerCase() === "ldaps"
  const standard = isSecure ? 636 : 389
  const number = port === "" ? standard : Number(port)
  if (number < 1 || number > 65_535) return undefined
  return { host: portText.toLowerCase().replace(/^\[|\]$/g, ""), port: number, isSecure }
}
