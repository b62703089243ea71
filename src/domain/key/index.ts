import { webKey } from "./model.ts"

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
