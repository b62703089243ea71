import type { Cx, Transaction } from "../../store/index.ts"

/**
 * What whoever asks for a proof keeps until it comes; each is good once. `expires` is ms UTC. It
 * holds no code: a code is known by its hash.
 */
export type Challenge =
  | { readonly kind: "code"; readonly hash: string; readonly expires: number }
  /** A code that lets in by itself, where the policy allows that; see `createMagicLink`. */
  | { readonly kind: "magic_link"; readonly hash: string; readonly expires: number }
  | {
      readonly kind: "key"
      /** What the key signs, base64url. */
      readonly challenge: string
      readonly rpId: string
      readonly userVerification: UserVerification
      readonly expires: number
    }

/** WebAuthn §5.8.6: whether the key is to see by itself who uses it, by a PIN or a finger. */
export type UserVerification = "required" | "preferred" | "discouraged"

/** A proof that somebody brings. */
export type Asked = {
  readonly userId: string
  /** The code as it was typed; of a key, the assertion as JSON (WebAuthn §5.1.8). */
  readonly given: string
  /** What was asked for; an authenticator app and recovery codes need none. */
  readonly challenge?: Challenge | undefined
}

/** What a proof has shown. */
export type Checked =
  | {
      readonly isRight: true
      /** RFC 8176 names of what was proved. */
      readonly methods: readonly string[]
      /** Whether a key has seen who used it, which makes it two factors at once. */
      readonly isUserVerified: boolean
    }
  /** Never say more: not whether there is such an account, or such a code. */
  | { readonly isRight: false }

/**
 * Decides as a part of a step. What was wrong is counted in that step, so it has to be written
 * also then; faults with `resource_exhausted` where too much was wrong already.
 */
export type AdmitFactor = (tx: Transaction) => Checked

/** Does the work that takes time, and answers what decides. */
export type Check = (cx: Cx, asked: Asked) => Promise<AdmitFactor>
