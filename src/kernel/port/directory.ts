/** The connection settings of an LDAP directory. */
export type DirectoryConnection = {
  /** The servers' URLs, tried in order until one answers. */
  readonly servers: readonly string[]
  readonly startTls: boolean
  /** PEM certificate authorities for the servers; empty for the public ones. */
  readonly rootCa: string
  /** Timeout for one server, ms. */
  readonly timeoutMs: number
}

/** A search for a user, with the credentials for the search. */
export type DirectorySearch = DirectoryConnection & {
  readonly bindDn: string
  readonly bindPassword: string
  readonly baseDn: string
  readonly objectClasses: readonly string[]
  /** Attributes of which one must equal `name`. */
  readonly filters: readonly string[]
  readonly name: string
  /** The attributes to return. */
  readonly attributes: readonly string[]
}

/** An entry: its values by lower-case attribute name; binary values in hexadecimal. */
export type DirectoryEntry = {
  readonly dn: string
  readonly values: Readonly<Record<string, readonly string[]>>
}

/** The credentials of a user: the name to bind as, and the password. */
export type DirectoryCredentials = { readonly name: string; readonly password: string }

/**
 * The protected access to directories. Both functions reject with a plain message if no server can
 * be reached.
 */
export type Directories = {
  /** The only matching entry; undefined if there is none or more than one. */
  readonly find: (search: DirectorySearch) => Promise<DirectoryEntry | undefined>
  /**
   * Whether a directory accepts the credentials (RFC 4513 §5.1.3); never with an empty password
   * (§5.1.2).
   */
  readonly authenticate: (
    connection: DirectoryConnection,
    credentials: DirectoryCredentials,
  ) => Promise<boolean>
}
