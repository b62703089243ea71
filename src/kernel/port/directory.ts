/** A directory that somebody entered. */
export type DirectoryPlace = {
  /** Their addresses; each is asked until one answers. */
  readonly servers: readonly string[]
  readonly startTls: boolean
  /** Whom the servers' certificates must come from, PEM; empty for whom everybody trusts. */
  readonly rootCa: string
  /** How long one server may take, ms. */
  readonly timeoutMs: number
}

/** Who is looked for, and as whom. */
export type DirectorySearch = DirectoryPlace & {
  readonly bindDn: string
  readonly bindPassword: string
  readonly baseDn: string
  readonly objectClasses: readonly string[]
  /** Attributes of which one must be `name`. */
  readonly filters: readonly string[]
  readonly name: string
  /** What is read of the entry. */
  readonly attributes: readonly string[]
}

/** An entry: its values by the names of attributes in small letters; bytes in hexadecimal. */
export type DirectoryEntry = {
  readonly dn: string
  readonly values: Readonly<Record<string, readonly string[]>>
}

/** What a person proves to a directory: whom they bind as, and the password. */
export type DirectoryProof = { readonly name: string; readonly password: string }

/** The guarded way to directories. Both reject, in plain words, where no server can be asked. */
export type Directories = {
  /** The one entry that fits; undefined where none does, or several do. */
  readonly find: (search: DirectorySearch) => Promise<DirectoryEntry | undefined>
  /**
   * Whether a directory lets somebody in (RFC 4513 §5.1.3); never with an empty password (§5.1.2).
   */
  readonly prove: (place: DirectoryPlace, proof: DirectoryProof) => Promise<boolean>
}
