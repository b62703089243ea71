export { isAcceptedEverywhere, isMailSafe, mayVerify } from "./accepted.ts"
export { verifierByCode } from "./contacts.ts"
export { domainInName } from "./domain-in-name.ts"
export { factorsOf, type KeyKind, type ReadyKey } from "./factors.ts"
export { credentialsOfAuthors, foreignCredentials } from "./foreign-credential.ts"
export { linksOf } from "./links.ts"
export {
  type AccessTokenType,
  type Gender,
  genders,
  type Human,
  hasLeft,
  type InviteMail,
  type JwtFormat,
  type Machine,
  type Password,
  type Profile,
  type User,
  type UserEvent,
  user,
} from "./model.ts"
export { isOnlyOwner, keepAnOwner, standingOf } from "./owner.ts"
export { ceremonyMs, hasOwnWay, hasPasskey, homeOf, readerOf } from "./read.ts"
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
