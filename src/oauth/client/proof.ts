import type { Asking } from "../endpoint/endpoint.ts"

/** RFC 9449: that a client holds a private key. */
export type Proof = {
  /** RFC 7638 thumbprint of the public key. */
  readonly jkt: string
}

/** The proof that a request brings; undefined where it brings none. */
export const proofOf = async (_: Asking): Promise<Proof | undefined> => undefined
