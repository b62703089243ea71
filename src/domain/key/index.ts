export {
  activateWebKey,
  addKeys,
  addWebKey,
  createWebKey,
  deleteWebKey,
  prepareKeys,
} from "./commands.ts"
export type { Claims } from "./jws.ts"
export { type Algorithm, algorithmOf, algorithms, type KeyKind, webKey } from "./model.ts"
export type { SealedPair } from "./pair.ts"
export {
  type Expected,
  type PublishedJwk,
  publicKeys,
  type Signer,
  signer,
  verifyJwt,
} from "./signer.ts"
export { listWebKeys, type WebKeyRow, webKeyView } from "./view.ts"
