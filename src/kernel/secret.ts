/** What a data key is for; each purpose has its own keys. */
export type Purpose = "seal" | "hash" | "cookie" | "token"

/**
 * Keyed operations with the data keys. Every result begins with the id of its key, so keys can be
 * rotated while old values stay readable. All are synchronous and safe inside a decision.
 */
export type Secrets = {
  /** Encrypts and authenticates; `about` is bound in and must be given again to open. */
  readonly seal: (purpose: Purpose, plain: string, about: string) => string
  /** Answers undefined for anything that is not, bit for bit, what `seal` made with `about`. */
  readonly open: (purpose: Purpose, sealed: string, about: string) => string | undefined
  /** A keyed hash for high-entropy secrets that we generated. Not for passwords. */
  readonly hash: (plain: string, about: string) => string
  /** Compares in constant time. */
  readonly matches: (hashed: string, plain: string, about: string) => boolean
}
