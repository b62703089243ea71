/** An LDAP server: what an address such as ldaps://ldap.example.com says. */
export type DirectoryServer = {
  /** A name, or an address without brackets. */
  readonly host: string
  readonly port: number
  /** Whether TLS begins with the connection (ldaps://). */
  readonly isSecure: boolean
}

/** Reads the address of an LDAP server (RFC 4516 §2, host and port alone); undefined for none. */
export function directoryServerOf(text: string): DirectoryServer | undefined {
  const [, scheme = "", given = "", port = ""] =
    /^(ldaps?):\/\/(\[[\da-f:.]+\]|[\w.-]+)(?::(\d{1,5}))?\/?$/i.exec(text) ?? []
  if (scheme === "") return undefined
  const isSecure = scheme.toLowerCase() === "ldaps"
  const standard = isSecure ? 636 : 389
  const number = port === "" ? standard : Number(port)
  if (number < 1 || number > 65_535) return undefined
  return { host: given.toLowerCase().replace(/^\[|\]$/g, ""), port: number, isSecure }
}
