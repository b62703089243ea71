export { isAcceptedEverywhere, isMailSafe, mayVerify } from "./accepted.ts"
export { verifierByCode } from "./contacts.ts"
export { domainInName } from "./domain-in-name.ts"
export { factorsOf } from "./factors.ts"
export { credentialsOfAuthors, foreignCredentials } from "./foreign-credential.ts"
export { linksOf } from "./links.ts"
export { type UserEvent, user } from "./model.ts"
export { isOnlyOwner, keepAnOwner, standingOf } from "./owner.ts"
export { ceremonyMs, hasOwnWay, hasPasskey, homeOf, readerOf } from "./read.ts"
export {
  type AccessTokenType,
  type Gender,
  genders,
  type Human,
  hasLeft,
  type InviteMail,
  type JwtFormat,
  type KeyKind,
  type Machine,
  type Password,
  type Profile,
  type ReadyKey,
  type User,
} from "./state.ts"
export {
  byOrganization,
  byUser,
  isProofMissing,
  outweighs,
  type Verifier,
  verifierFrom,
} from "./verifier.ts"
/** What this module is to the whole. */
export const module = {} as const
