export { isAcceptedEverywhere, isMailSafe, mayVerify } from "./accepted.ts"
export { type Email, type FirstContacts, verifierByCode } from "./contacts.ts"
export { domainInName } from "./domain-in-name.ts"
export { factorsOf, type KeyKind, type ReadyKey } from "./factors.ts"
export { credentialsOfAuthors, foreignCredentials } from "./foreign-credential.ts"
export { type IdpLink, linksOf } from "./links.ts"
export {
  type AccessTokenType,
  type Code,
  type Gender,
  genders,
  type Human,
  hasLeft,
  type InviteMail,
  type JwtFormat,
  type LoginNames,
  type Machine,
  type Password,
  type PersonalToken,
  type Profile,
  type User,
  type UserEvent,
  type UserStatus,
  user,
} from "./model.ts"
export type { PasswordProof } from "./origins.ts"
export { isOnlyOwner, keepAnOwner, standingOf } from "./owner.ts"
export { ceremonyMs, hasOwnWay, hasPasskey, homeOf, readerOf } from "./read.ts"
export {
  byOrganization,
  byUser,
  isProofMissing,
  outweighs,
  type VerifiedBy,
  type Verifier,
  verifierFrom,
} from "./verifier.ts"

/** What this module is to the whole. */
export const module = {} as const
