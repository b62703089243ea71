export { canVerify, isAcceptedEverywhere, isMailSafe } from "./accepted.ts"
export { verifierByCode } from "./contacts.ts"
export { domainOfName } from "./domain-in-name.ts"
export { factorsOf } from "./factors.ts"
export { listCredentialsOfAuthors, listForeignCredentials } from "./foreign-credential.ts"
export { linksOf } from "./links.ts"
export { type UserEvent, user } from "./model.ts"
export { isOnlyOwner, requireOtherOwner, signInStatusOf } from "./owner.ts"
export { ceremonyMs, createReader, findHomeOrg, hasOwnCredential, hasPasskey } from "./read.ts"
export {
  type AccessTokenType,
  type Gender,
  genders,
  type Human,
  type InviteMail,
  isAbsent,
  type JwtFormat,
  type KeyKind,
  type Machine,
  type Password,
  type Profile,
  type ReadyKey,
  type User,
} from "./state.ts"
export {
  addsUserProof,
  byOrganization,
  byUser,
  isStronger,
  type Verifier,
  verifierFrom,
} from "./verifier.ts"
/** Parts of this module that the server loads. */
export const module = {} as const
