import { webKey } from "./model.ts"
import { keyPair } from "./saml/model.ts"
import { keyPairView } from "./saml/view.ts"
import { webKeyView } from "./view.ts"

export { addKeys, findActiveKeyId, prepareKeys, publishedSeconds } from "./commands.ts"
export { encryptJwt } from "./jwe.ts"
export { type Claims, halfHash } from "./jws.ts"
export { type AccessTokenJwtType, accessTokenJwtTypes, parseJwtType } from "./jwt-type.ts"
export { type Algorithm, algorithms } from "./model.ts"
export { type ImportedKey, type SealedPair, sealPair } from "./pair.ts"
export { rotateKeys } from "./rotation.ts"
export { type CertifiedPair, createCertifiedPair, importPrivateKey } from "./saml/certificate.ts"
export { getSamlKeys, rotateSamlKeys, type SamlKeys } from "./saml/commands.ts"

export { getSigner, publicKeys, signingAlgorithms, verifyJwt } from "./signer.ts"
export { listWebKeys } from "./view.ts"

/** Everything that this module registers with the server. */
export const module = {
  aggregates: [webKey, keyPair],
  views: [webKeyView, keyPairView],
  history: () => import("./history.ts"),
  operations: () => import("./api.ts"),
} as const
