import type { Cx } from "../../store/index.ts"
import { orgWithDomain } from "../org/index.ts"
import { userMetadataView } from "./account/metadata-view.ts"
import { registration, registrationCount } from "./account/registration.ts"
import { supersessions } from "./account/supersede.ts"
import { passwordCheck } from "./credential/attempt.ts"
import { codeCount } from "./credential/code-count.ts"
import { failedSignInView, failureErasure } from "./credential/failure.ts"
import { failedTries } from "./credential/lockout.ts"
import { factorCount } from "./factor/check-count.ts"
import { user } from "./model.ts"
import { userChain } from "./query.ts"

export { isUnknownName, orgNamedIn } from "./unknown-name.ts"

import { userView } from "./view.ts"

export { never } from "../../kernel/crypto/signing-key.ts"
export { isTemporaryOf, newTemporaryId, temporaryEmail } from "../../kernel/temporary-id.ts"
export {
  fullName,
  isLanguage,
  isPhone,
  isSameEmail,
  isSamePhone,
} from "../../kernel/text/user-field.ts"
export { isAcceptedEverywhere, isMailSafe } from "./accepted.ts"
export {
  avatarAddress,
  avatarPath,
  findAvatar,
  noPictureError,
  setAvatar,
} from "./account/avatar.ts"
export {
  claimUserName,
  deactivateUser,
  lockUser,
  reactivateUser,
  releaseLoginName,
  removeUser,
  type UserChange,
  unlockUser,
  updateUser,
} from "./account/commands.ts"
export { confirmEmails } from "./account/confirm.ts"
export { verifyByLink } from "./account/contact.ts"
export {
  addOwnUser,
  addUser,
  createUser,
  importUser,
  type NewContact,
  type NewHuman,
  type NewMachine,
  type NewProfile,
  type NewUser,
  ownUserId,
} from "./account/create.ts"
export { findByLoginName, loginNamesOf, shownNames } from "./account/find-name.ts"
export {
  acceptInvite,
  invitationOf,
  invitedKey,
  invitedPassword,
  inviteUser,
} from "./account/invite.ts"
export { nameHolder } from "./account/login-name.ts"
export { type Metadata, noteMetadata, removeMetadata, setMetadata } from "./account/metadata.ts"
export { heldMetadata } from "./account/metadata-view.ts"
export { mustOutrank } from "./account/outrank.ts"
export { warnOfLeaving, whenOwnerless } from "./account/owner-watch.ts"
export { type Recovery, recoverUser } from "./account/recovery.ts"
export {
  addApproved,
  askRegistration,
  checkRegistration,
  completeRegistration,
  type FirstCredential,
  hasAccount,
  personAsked,
  type Registrant,
  type RegistrationEvent,
  registrantBy,
  registrantOf,
  registration,
  registrationCode,
  registrationKey,
  registrationPassword,
  type Submitted,
  submitRegistration,
} from "./account/registration.ts"
export { isEmailVerifiedFor, sharedEmails, verifiedAtHomeOnly } from "./account/verified.ts"
export { type Attempts, attemptsOf, isStandIn, turnsFor } from "./credential/attempt.ts"
export { createCode, linkKeyOf, type NewCode } from "./credential/code.ts"
export { type CodeCheck, checkCode } from "./credential/code-check.ts"
export type { CodeFor, CodeOf } from "./credential/code-count.ts"
export { countRequest } from "./credential/code-count.ts"
export {
  type Admit,
  changedPassword,
  checkPassword,
  complexityFor,
  createPassword,
  firstPasswordIn,
  importPassword,
  type NewPassword,
  type PasswordChange,
  type PasswordCheck,
  passwordOf,
  provePassword,
  replacementOf,
  replacePassword,
  setPassword,
} from "./credential/credential.ts"
export { proveElsewhere } from "./credential/elsewhere.ts"
export { accountStreams } from "./credential/failure.ts"
export {
  createMagicLink,
  type MagicLink,
  requestMagicLink,
  tryMagicLink,
} from "./credential/magic-link.ts"
export { passwordLoad, warmPasswords } from "./credential/password.ts"
export { askReset, resetPasswordFor } from "./credential/reset.ts"
export { noteViewed, sentCode } from "./credential/sent-code.ts"
export {
  type AdmitFactor,
  type Asked,
  type Challenge,
  type Check,
  type Checked,
  type CheckKind,
  checkKinds,
  factorChecks,
  type UserVerification,
} from "./factor/check.ts"
export { firstKey } from "./factor/first-key.ts"
export { beginKey, type FinishedKey, finishedKey } from "./factor/key.ts"
export { addOtp, admitMailedCode, challengeCode, type OtpChannel } from "./factor/otp.ts"
export {
  type Factor,
  factorSkipped,
  factorsSetUp,
  isAllowedFactor,
  keysOf,
  mayHaveCodes,
  type OwnKey,
  recoveryCodesLeft,
  secondFactorsOf,
} from "./factor/ready.ts"
export { importRecoveryCodes } from "./factor/recovery-code.ts"
export { hasKeys, originsOf, relyingPartyOf } from "./factor/relying-party.ts"
export { removableFactors } from "./factor/removal.ts"
export { skipFactors } from "./factor/skip.ts"
export {
  admitTotp,
  importTotp,
  pendingTotp,
  registerTotp,
  totpSecret,
  totpUri,
} from "./factor/totp.ts"
export { challengeKey, keyHolder, unknownKey } from "./factor/webauthn-check.ts"
export { credentialsOfAuthors, foreignCredentials } from "./foreign-credential.ts"
export { type Candidate, candidatesFor } from "./link/candidate.ts"
export {
  addLink,
  checkLink,
  type External,
  letsIn,
  letsUserIn,
  linkedUser,
  linkedUserIn,
  mustHaveRoom,
  removeLink,
  usableLinks,
  userLetIn,
  vouchedUser,
} from "./link/commands.ts"
export { type IdpLink, linksOf } from "./links.ts"
export { findMachine, findMachineByName, serviceUserKey } from "./machine/find.ts"
export { jwtFormatFields, jwtFormatOf } from "./machine/jwt-format.ts"
export {
  generateMachineSecret,
  isMachineSecret,
  removeMachineSecret,
} from "./machine/machine-secret.ts"
export {
  addPersonalToken,
  createPersonalToken,
  isPersonalToken,
  type KnownToken,
  readPersonalToken,
  removePersonalToken,
} from "./machine/personal-token.ts"
export {
  addServiceKey,
  createServiceKey,
  importServiceKey,
  removeServiceKey,
  type ServiceKey,
} from "./machine/service-key.ts"
export {
  type AccessTokenType,
  type Gender,
  genders,
  type Human,
  hasLeft,
  type JwtFormat,
  type Machine,
  type Password,
  type User,
  type UserEvent,
  user,
} from "./model.ts"
export { standingOf } from "./owner.ts"
export {
  accountOf,
  findUser,
  isSignInCurrent,
  isUserActive,
  passwordVersion,
  profile,
  profileFor,
  signInVersion,
  strangersOn,
  type UserChain,
  type UserInfo,
  userChain,
  userNameOf,
  usersOf,
} from "./query.ts"
export { ceremonyMs, hasOwnWay, hasPasskey, homeOf, readerOf } from "./read.ts"
export { isTemporary, temporaryUsers } from "./temporary.ts"
export type { Verifier } from "./verifier.ts"
export { type UserRow, userKeys, users, userView } from "./view.ts"

/** What this module is to the whole. */
export const module = {
  aggregates: [
    { ...user, consequences: [supersessions, failureErasure] },
    registration,
    registrationCount,
    passwordCheck,
    failedTries,
    codeCount,
    factorCount,
  ],
  views: [userView, userMetadataView, failedSignInView],
  chains: {
    user: userChain,
    /** An organisation, by its primary domain. */
    org_domain: (cx: Cx, domain: string) => {
      const org = orgWithDomain(cx, domain)
      return org === undefined ? undefined : ({ instance: true, org } as const)
    },
  },
  operations: () => import("./api.ts"),
} as const
