import type { Cx, Transaction } from "../../store/index.ts"

/**
 * Kept by the caller until the proof is submitted; each can be used once. `expires` is ms UTC. It
 * contains the hash of a code, never the code.
 */
export type Challenge =
  | { readonly kind: "code"; readonly hash: string; readonly expires: number }
  /** A code that is sufficient to sign in, if the policy allows it; see `createMagicLink`. */
  | { readonly kind: "magic_link"; readonly hash: string; readonly expires: number }
  | {
      readonly kind: "key"
      /** The value that the key signs, base64url. */
      readonly challenge: string
      readonly rpId: string
      readonly userVerification: UserVerification
      readonly expires: number
    }

/** WebAuthn §5.8.6: whether the key must verify the user by PIN or biometrics. */
export type UserVerification = "required" | "preferred" | "discouraged"

/** A submitted proof. */
export type FactorProof = {
  readonly userId: string
  /** The typed code; for a key, the assertion as JSON (WebAuthn §5.1.8). */
  readonly given: string
  /** Not required for authenticator apps and recovery codes. */
  readonly challenge?: Challenge | undefined
}

/** The result of a check. */
export type FactorCheckResult =
  | {
      readonly isRight: true
      /** Authentication method references (RFC 8176). */
      readonly methods: readonly string[]
      /** Whether the key verified the user, which makes it two factors. */
      readonly isUserVerified: boolean
    }
  /** Contains no details, which would disclose whether the account or the code exists. */
  | { readonly isRight: false }

/**
 * Decides in a transaction. Wrong proofs are counted there, so it must also be committed for those.
 * Throws `resource_exhausted` after too many wrong proofs.
 */
export type FactorDecision = (tx: Transaction) => FactorCheckResult

/** Does the slow work before the transaction and returns the decision. */
export type FactorCheck = (cx: Cx, proof: FactorProof) => Promise<FactorDecision>
