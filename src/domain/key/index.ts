import { webKey } from "./model.ts"
import { admin } from "./v1.ts"
import { v2 } from "./v2.ts"
import { v3alpha } from "./v3alpha.ts"

export {
  activateWebKey,
  activeOf,
  addKeys,
  addWebKey,
  createWebKey,
  deleteWebKey,
  prepareKeys,
  publishedSeconds,
} from "./commands.ts"
export { type Claims, halfHash } from "./jws.ts"
export { type Algorithm, algorithmOf, algorithms, type KeyKind, webKey } from "./model.ts"
export type { SealedPair } from "./pair.ts"
export { rotateKeys } from "./rotation.ts"
export {
  type Expected,
  type PublishedJwk,
  publicKeys,
  type Signer,
  signer,
  signingAlgorithms,
  verifyJwt,
} from "./signer.ts"
export { listWebKeys, type WebKeyRow, webKeyView } from "./view.ts"

/** What this room keeps streams of. */
export const aggregates = [webKey] as const

/** The operations that this room answers. */
export const shares = [v2, v3alpha, admin] as const
