import { webKey } from "./model.ts"
import { keyPair } from "./saml/model.ts"
import { keyPairView } from "./saml/view.ts"
import { webKeyView } from "./view.ts"

export { activeOf, addKeys, prepareKeys, publishedSeconds } from "./commands.ts"
export { encryptJwt } from "./jwe.ts"
export { type Claims, halfHash } from "./jws.ts"
export { type AccessTokenJwtType, accessTokenJwtTypes, parseJwtType } from "./jwt-type.ts"
export { type Algorithm, algorithms } from "./model.ts"
export { type GivenKey, type SealedPair, sealPair } from "./pair.ts"
export { rotateKeys } from "./rotation.ts"
export { type CertifiedPair, createCertified, privateKeyOf } from "./saml/certificate.ts"
export { rotateSamlKeys, type SamlKeys, samlKeys } from "./saml/commands.ts"

export { publicKeys, signer, signingAlgorithms, verifyJwt } from "./signer.ts"
export { listWebKeys } from "./view.ts"

/** What this module is to the whole. */
export const module = {
  aggregates: [webKey, keyPair],
  views: [webKeyView, keyPairView],
  history: () => import("./history.ts"),
  operations: () => import("./api.ts"),
} as const
